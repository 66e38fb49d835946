package audit

import (
	"errors"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// typHead is the typ of a signed head: no other statement of an authority passes for one.
const typHead = "bindery-audit+jwt"

const maxHead = 4 << 10 // bytes of its compact form

// errHead says of a head no more than that it is none.
var errHead = errors.New("audit: not a head that this key has signed")

// A Head is what an authority or a gateway signs of its log: that it ends at Tip.
type Head struct {
	Of   string // which log: LogRA or LogGateway
	From int64  // the first row that the export holds; 1 for the whole log
	Tip
	At time.Time // milliseconds
}

// Sign returns the head in compact form. kid in its header is the signer's thumbprint.
func (h Head) Sign(s *jose.Signer) (string, error) {
	payload := jcs.Object(
		jcs.Member{Name: "of", Value: text(h.Of)},
		jcs.Member{Name: "from", Value: jcs.Int(h.From)},
		jcs.Member{Name: "seq", Value: jcs.Int(h.Seq)},
		jcs.Member{Name: "entry_sha256", Value: text(string(h.Entry))},
		jcs.Member{Name: "at", Value: jcs.Int(h.At.UnixMilli())},
	)
	if _, err := readHead(payload); err != nil {
		return "", err
	}
	return jose.SignCompact(s, typHead, payload)
}

// ParseHead verifies a head under its owner's key and only then reads it.
func ParseHead(token string, key jose.Key) (Head, error) {
	c, err := jose.ParseCompact(token, maxHead)
	if err != nil || c.Header.Typ != typHead || c.Verify(key) != nil {
		return Head{}, errHead
	}
	return readHead(c.Payload)
}

func readHead(payload []byte) (Head, error) {
	v, err := jcs.Profile{MaxDepth: 1, MaxSize: maxHead}.Parse(payload)
	if err != nil {
		return Head{}, errHead
	}
	r := jcs.NewReader(v)
	h := Head{
		Of: r.Text("of"), From: r.Int("from"), At: time.UnixMilli(r.Int("at")).UTC(),
		Tip: Tip{Seq: r.Int("seq"), Entry: readHex(r, "entry_sha256")},
	}
	empty := h.Tip == Genesis() && h.From == 1
	if r.Close() != nil || h.Of == "" || h.From < 1 || !empty && h.Seq < h.From {
		return Head{}, errHead
	}
	return h, nil
}

// HeadLine is a signed head as the last line of an export, without the line feed.
func HeadLine(token string, key jose.Key) []byte {
	return jcs.Object(jcs.Member{Name: "head", Value: text(token)}, jcs.Member{Name: "key", Value: key.JWK()})
}
