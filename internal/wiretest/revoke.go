package wiretest

import (
	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
)

// RevokeKey revokes one of the party's keys at its RA.
func (p *Party) RevokeKey(s *jose.Signer) {
	p.w.t.Helper()
	p.revokeSigner(api.RevokeSigner{Kind: api.KindKey, PrincipalID: p.PrincipalID, Subject: s.Key().ID})
}

// RevokeSelf revokes the party itself at its RA.
func (p *Party) RevokeSelf() {
	p.w.t.Helper()
	p.revokeSigner(api.RevokeSigner{Kind: api.KindPrincipal, PrincipalID: p.PrincipalID})
}

func (p *Party) revokeSigner(req api.RevokeSigner) {
	p.w.t.Helper()
	_, err := p.RA.RevokeSigner(p.w.t.Context(), req)
	p.w.check(err)
}
