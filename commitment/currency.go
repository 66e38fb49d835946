package commitment

import (
	"errors"
	"strings"
)

// Currency is an active ISO 4217 alphabetic code in upper case. A code for which the standard
// defines no minor unit (metals, bond units, XDR, XTS, XXX) is none: a financial magnitude counts
// minor units.
type Currency string

var errCurrency = errors.New("commitment: not an active ISO 4217 code with a minor unit")

// ParseCurrency accepts the codes of ISO 4217 list one, as of 1 January 2026, that have a minor
// unit. The empty string is never valid: where there is no currency there is no member (AG-06).
func ParseCurrency(s string) (Currency, error) {
	if c := Currency(s); c.valid() {
		return c, nil
	}
	return "", errCurrency
}

func (c Currency) valid() bool {
	if len(c) != 3 || strings.ContainsAny(string(c), " \n") {
		return false
	}
	return strings.Contains(currencies, string(c))
}

// currencies holds three letters and one space or newline per code.
const currencies = `
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD
CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP
GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR
KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN
MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD
SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX
USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
`
