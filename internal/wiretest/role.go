package wiretest

import "net/http"

// Role posts a body to a path of the RA or VA, such as /v1/ra/closeds, under a credential;
// "" sends none. A transport error ends the test.
func (w *World) Role(path, credential string, body []byte) Answer {
	w.t.Helper()
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	if credential != "" {
		h.Set("Authorization", "Bearer "+credential)
	}
	a, err := w.request(http.MethodPost, path, h, body)
	w.check(err)
	return a
}

// RoleName is the code of an error of the RA or VA, "" when there is none.
func (a Answer) RoleName() string { return Text(a.Doc, "error", "code") }

// Present gives the Script another Closed, with the claims that edit leaves, which no RA
// is asked to register. The Script must not have sealed yet.
func (s *Script) Present(edit func(claims Doc)) {
	s.W.t.Helper()
	s.Closed, s.Receipt = s.SignClosed(edit), "unregistered"
	s.Forget()
}
