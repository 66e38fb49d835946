package commitment_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bindery/bindery/commitment"
)

const largest = 9007199254740991 // 2^53−1

// covers GC-186
func TestParseMagnitude(t *testing.T) {
	for _, n := range []int64{0, 1, 250000, largest} {
		if m, err := commitment.ParseMagnitude(n); err != nil || int64(m) != n {
			t.Errorf("ParseMagnitude(%d) = %d, %v", n, m, err)
		}
	}
	for _, n := range []int64{-1, largest + 1, 1<<63 - 1, -1 << 63} {
		if m, err := commitment.ParseMagnitude(n); err == nil || m != 0 {
			t.Errorf("ParseMagnitude(%d) = %d, %v", n, m, err)
		}
	}
}

// covers GC-181, GC-182, GC-183, GC-184, GC-185, GC-187, GC-206
func TestNewAmount(t *testing.T) {
	tests := []struct {
		name      string
		class     commitment.Class
		magnitude commitment.Magnitude
		currency  commitment.Currency
		unit      string // "" for a refusal
	}{
		{"reads", commitment.Observe, 0, "", "reads"},
		{"reversible actions", commitment.Reversible, 5, "", "actions"},
		{"irreversible actions", commitment.Irreversible, 5, "", "actions"},
		{"money", commitment.Financial, 250000, "EUR", "minor units of EUR"},
		{"instruments", commitment.Binding, 1, "", "instruments"},
		{"largest", commitment.Binding, largest, "", "instruments"},
		{"CM-6 financial without currency", commitment.Financial, 250000, "", ""},
		{"CM-5 no class", 0, 1, "", ""},
		{"class beyond the ladder", 6, 1, "", ""},
		{"currency beside binding", commitment.Binding, 1, "EUR", ""},
		{"currency beside observe", commitment.Observe, 0, "EUR", ""},
		{"unknown currency", commitment.Financial, 1, "EUX", ""},
		{"lower-case currency", commitment.Financial, 1, "eur", ""},
		{"negative", commitment.Reversible, -1, "", ""},
		{"too large", commitment.Reversible, largest + 1, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := commitment.NewAmount(tt.class, tt.magnitude, tt.currency)
			if tt.unit == "" {
				if err == nil || a != (commitment.Amount{}) {
					t.Fatalf("NewAmount = %+v, %v", a, err)
				}
				return
			}
			if err != nil || a != (commitment.Amount{Class: tt.class, Magnitude: tt.magnitude, Currency: tt.currency}) {
				t.Fatalf("NewAmount = %+v, %v", a, err)
			}
			if got := a.Unit(); got != tt.unit {
				t.Errorf("Unit() = %q, want %q", got, tt.unit)
			}
		})
	}
	if got := (commitment.Amount{}).Unit(); got != "" {
		t.Errorf("unit of no amount = %q", got)
	}
}

func amount(c commitment.Class, m commitment.Magnitude, cur commitment.Currency) commitment.Amount {
	return commitment.Amount{Class: c, Magnitude: m, Currency: cur}
}

// covers GC-176, GC-188, GC-189, GC-197, GC-203, GC-204
func TestNarrows(t *testing.T) {
	const (
		observe      = commitment.Observe
		reversible   = commitment.Reversible
		irreversible = commitment.Irreversible
		financial    = commitment.Financial
		binding      = commitment.Binding
	)
	tests := []struct {
		name          string
		parent, child commitment.Amount
		want          error
	}{
		{"CM-3 wider", amount(financial, 250000, "EUR"), amount(financial, 300000, "EUR"), commitment.ErrMagnitudeWidened},
		{"CM-3 narrower", amount(financial, 250000, "EUR"), amount(financial, 100000, "EUR"), nil},
		{"CM-3 wider, irreversible", amount(irreversible, 250000, ""), amount(irreversible, 300000, ""), commitment.ErrMagnitudeWidened},
		{"CM-3 narrower, irreversible", amount(irreversible, 250000, ""), amount(irreversible, 100000, ""), nil},
		{"CM-4", amount(financial, 250000, "EUR"), amount(financial, 100000, "GBP"), commitment.ErrCurrencyDiffers},
		{"equal", amount(financial, 250000, "EUR"), amount(financial, 250000, "EUR"), nil},
		{"one more", amount(binding, 1, ""), amount(binding, 2, ""), commitment.ErrMagnitudeWidened},
		{"none from none", amount(binding, 0, ""), amount(binding, 0, ""), nil},
		{"one from none", amount(reversible, 0, ""), amount(reversible, 1, ""), commitment.ErrMagnitudeWidened},
		{"none from some", amount(reversible, 5, ""), amount(reversible, 0, ""), nil},
		{"class before currency", amount(irreversible, 5, ""), amount(financial, 1, "EUR"), commitment.ErrClassWidened},
		{"class before magnitude", amount(irreversible, 5, ""), amount(binding, 9, ""), commitment.ErrClassWidened},
		{"currency before magnitude", amount(financial, 1, "EUR"), amount(financial, 2, "GBP"), commitment.ErrCurrencyDiffers},
		{"narrower class resets the unit", amount(financial, 5, "EUR"), amount(irreversible, largest, ""), nil},
		{"narrower class from binding to money", amount(binding, 1, ""), amount(financial, 250000, "EUR"), nil},
		{"unlimited reads under a higher class", amount(reversible, 5, ""), amount(observe, 0, ""), nil},
		{"reads from unlimited", amount(observe, 0, ""), amount(observe, largest, ""), nil},
		{"unlimited from unlimited", amount(observe, 0, ""), amount(observe, 0, ""), nil},
		{"AG-20 unlimited from bounded", amount(observe, 3, ""), amount(observe, 0, ""), commitment.ErrMagnitudeWidened},
		{"reads within bound", amount(observe, 3, ""), amount(observe, 3, ""), nil},
		{"reads beyond bound", amount(observe, 3, ""), amount(observe, 4, ""), commitment.ErrMagnitudeWidened},
		{"zero parent", commitment.Amount{}, amount(observe, 1, ""), commitment.ErrClassWidened},
		{"zero child", amount(binding, 1, ""), commitment.Amount{}, commitment.ErrClassWidened},
		{"parent beyond the ladder", amount(6, 1, ""), amount(observe, 1, ""), commitment.ErrClassWidened},
		{"both without currency", amount(financial, 5, ""), amount(financial, 5, ""), commitment.ErrCurrencyDiffers},
		{"both in no currency", amount(financial, 5, "XXX"), amount(financial, 5, "XXX"), commitment.ErrCurrencyDiffers},
		{"currency on a child of another class", amount(binding, 5, ""), amount(reversible, 5, "EUR"), commitment.ErrCurrencyDiffers},
		{"currency on both of another class", amount(binding, 5, "EUR"), amount(binding, 5, "EUR"), commitment.ErrCurrencyDiffers},
		{"negative child", amount(reversible, 5, ""), amount(reversible, -1, ""), commitment.ErrMagnitudeWidened},
		{"negative child of a narrower class", amount(binding, 5, ""), amount(reversible, -1, ""), commitment.ErrMagnitudeWidened},
		{"parent out of range", amount(reversible, largest+1, ""), amount(reversible, 1, ""), commitment.ErrMagnitudeWidened},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.parent.Narrows(tt.child); !errors.Is(got, tt.want) || (got == nil) != (tt.want == nil) {
				t.Errorf("Narrows = %v, want %v", got, tt.want)
			}
		})
	}
}

// covers GC-176
func TestNarrowsLadder(t *testing.T) {
	for i, parent := range ladder {
		for j, child := range ladder {
			currency := map[bool]commitment.Currency{true: "EUR"}
			p := amount(parent, 1, currency[parent == commitment.Financial])
			c := amount(child, 1, currency[child == commitment.Financial])
			if got := p.Narrows(c); (got == nil) != permits[i][j] {
				t.Errorf("%v under %v: %v", child, parent, got)
			}
		}
	}
}

// covers GC-187, GC-206
func TestMissingCurrencyIsNamed(t *testing.T) {
	_, err := commitment.NewAmount(commitment.Financial, 1, "")
	if err == nil || !strings.Contains(err.Error(), "without a currency") {
		t.Errorf("NewAmount = %v", err)
	}
}

// covers GC-323
func TestRefusalsHoldNoNumber(t *testing.T) {
	for _, err := range []error{commitment.ErrClassWidened, commitment.ErrCurrencyDiffers, commitment.ErrMagnitudeWidened} {
		if strings.ContainsAny(err.Error(), "0123456789") {
			t.Errorf("%v", err)
		}
	}
}

// covers GC-184, GC-187
func TestParseCurrency(t *testing.T) {
	for _, s := range []string{"AED", "BZD", "CAD", "EUR", "FKP", "GBP", "JPY", "KWD", "MXN", "USD", "XAF", "XCG", "ZAR", "ZWG", "CLF"} {
		if c, err := commitment.ParseCurrency(s); err != nil || string(c) != s {
			t.Errorf("ParseCurrency(%q) = %q, %v", s, c, err)
		}
	}
	for _, s := range []string{
		"", " ", "   ", "\n", "eur", "Eur", "EU", "EURO", "EUR ", " EUR", "E R", "R G", "UR\n", "978", "€", "ЕUR", // Cyrillic Е
		"DEM", "HRK", "BGN", "ANG", "SLL", "ZWL", "CUC", // withdrawn
		"XAU", "XAG", "XDR", "XTS", "XXX", "XBA", "XSU", // no minor unit
		"BTC", "ABC", "AED AFN", "D A", "D\nC",
	} {
		if c, err := commitment.ParseCurrency(s); err == nil || c != "" {
			t.Errorf("ParseCurrency(%q) = %q, %v", s, c, err)
		}
	}
	// Every code of three capitals is either listed or not: 165 active codes have a minor unit.
	count := 0
	for i := range 26 * 26 * 26 {
		code := string([]byte{'A' + byte(i/676), 'A' + byte(i/26%26), 'A' + byte(i%26)})
		if _, err := commitment.ParseCurrency(code); err == nil {
			count++
		}
	}
	if count != 165 {
		t.Errorf("%d currencies", count)
	}
}
