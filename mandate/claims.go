package mandate

import (
	"errors"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/sdjwt"
	"github.com/bindery/bindery/jcs"
)

// maxSeconds is the last second of the year 9999, so that every time has an RFC 3339 form.
const maxSeconds = 253402300799

// parseToken reads the SD-JWT and turns its faults into ours.
func parseToken(token string, disclosable ...string) (*sdjwt.Token, error) {
	t, err := sdjwt.Parse(token, disclosable...)
	if err != nil {
		return nil, tokenFault(err)
	}
	return t, nil
}

// tokenFault makes an error of package sdjwt a Fault, and leaves others as they are. A
// magnitude that is no integer fails already as JSON in the integer profile, and is still
// reported as what it is (M-1, GC-186).
func tokenFault(err error) error {
	bad := (*sdjwt.Error)(nil)
	if !errors.As(err, &bad) {
		return err
	}
	if number := (*jcs.Error)(nil); errors.As(err, &number) && number.Kind == jcs.KindNumber {
		switch bad.Pointer {
		case "/" + claimLimit:
			return malformed(claimLimit, "not an integer in range")
		case "/" + claimAsserted:
			return malformed(claimAsserted, "not an integer in range")
		}
	}
	return invalid(bad.Part, bad.Rule)
}

// checkType tells an Open from a Closed, by the exact vct and by nothing else (M2).
func checkType(claims jcs.Value, vct string) error {
	if got, ok := claims.Get(claimVCT).Text(); !ok || got != vct {
		return invalid(claimVCT, "not "+vct)
	}
	return nil
}

// readCommon reads the claims that both variants have: iss, sub, exp and iat.
func readCommon(t *sdjwt.Token, issuerIs func(string) bool) (identity, validity, error) {
	fail := func(claim, rule string) (identity, validity, error) {
		return identity{}, validity{}, invalid(claim, rule)
	}
	claims := t.Claims()
	id, span := identity{token: t}, validity{}
	var ok bool
	if id.issuer, ok = claims.Get(claimIss).Text(); !ok || !issuerIs(id.issuer) {
		return fail(claimIss, "missing or not an identifier of the issuer's kind")
	}
	if id.subject, ok = claims.Get(claimSub).Text(); !ok || !ValidAgentID(id.subject) {
		return fail(claimSub, "missing or not the identifier of an agent")
	}
	if span.expiresAt, ok = readTime(claims.Get(claimExp)); !ok {
		return fail(claimExp, "missing or not a time in whole seconds")
	}
	if span.issuedAt, ok = readTime(claims.Get(claimIat)); !ok {
		return fail(claimIat, "missing or not a time in whole seconds")
	}
	if nbf := claims.Get(claimNbf); nbf.Type() != jcs.Absent {
		// A start that one would have to wait for cannot be judged here, and what cannot
		// be judged fails (GC-173).
		if from, ok := readTime(nbf); !ok || from.After(span.issuedAt) {
			return fail(claimNbf, "not a time at or before iat")
		}
	}
	return id, span, nil
}

func readTime(v jcs.Value) (time.Time, bool) {
	n, ok := v.Int()
	if !ok || n < 0 || n > maxSeconds {
		return time.Time{}, false
	}
	return time.Unix(n, 0).UTC(), true
}

// readConfirmation reads cnf: absent, or exactly one jwk that is a public P-256 key.
func readConfirmation(v jcs.Value) (key jose.Key, present bool, err error) {
	if v.Type() == jcs.Absent {
		return jose.Key{}, false, nil
	}
	jwk := v.Get("jwk")
	if v.Type() != jcs.ObjectType || v.Len() != 1 || jwk.Type() == jcs.Absent {
		return jose.Key{}, false, invalid(claimCnf, "not an object of jwk alone")
	}
	if key, err = jose.ParseJWK(jwk); err != nil {
		return jose.Key{}, false, invalid(claimCnf, "jwk is not a public P-256 key")
	}
	return key, true, nil
}

// readUnit reads class and currency, the two claims that fix a magnitude's unit (M-2,
// AG-06). A currency that is present must be a string, so that null is not absence.
func readUnit(claims jcs.Value) (commitment.Class, commitment.Currency, error) {
	text, ok := claims.Get(claimClass).Text()
	class, err := commitment.ParseClass(text)
	if !ok || err != nil {
		return 0, "", malformed(claimClass, "missing or not one of the five classes")
	}
	v := claims.Get(claimCurrency)
	if v.Type() == jcs.Absent {
		if class == commitment.Financial {
			return 0, "", malformed(claimCurrency, "missing beside class financial")
		}
		return class, "", nil
	}
	text, ok = v.Text()
	currency, err := commitment.ParseCurrency(text)
	if !ok || err != nil {
		return 0, "", malformed(claimCurrency, "not an ISO 4217 code")
	}
	if class != commitment.Financial {
		return 0, "", malformed(claimCurrency, "present beside a class that has none")
	}
	return class, currency, nil
}

// readAmount reads the magnitude claim named name in the given unit (M-1).
func readAmount(claims jcs.Value, name string, class commitment.Class, currency commitment.Currency) (commitment.Amount, error) {
	n, ok := claims.Get(name).Int()
	magnitude, err := commitment.ParseMagnitude(n)
	if !ok || err != nil {
		return commitment.Amount{}, malformed(name, "missing or not an integer in range")
	}
	amount, err := commitment.NewAmount(class, magnitude, currency)
	if err != nil {
		return commitment.Amount{}, malformed(name, "not an amount of its class")
	}
	return amount, nil
}
