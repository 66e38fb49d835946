package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// A session's id as the client sees it is the upstream's, a dot, and a tag that only the holders of
// the session key can make, over the agent, the upstream and the id. So another agent's id is
// refused without any state here, by every replica alike.

// maxSession is the longest id of a session of an upstream.
const maxSession = 1024

// sessionTag is the tag of an id. Neither agents nor names of upstreams hold a NUL.
func sessionTag(key []byte, agent, upstream, id string) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{"bindery-session-v1", agent, upstream, id} {
		_, _ = mac.Write([]byte(part))
		_, _ = mac.Write([]byte{0})
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// sealSession is the id that the client gets for an upstream's.
func sealSession(key []byte, agent, upstream, id string) string {
	return id + "." + sessionTag(key, agent, upstream, id)
}

// openSession is the upstream's id of the one that a client sends; ok is false if it is not this
// agent's at this upstream.
func openSession(key []byte, agent, upstream, sealed string) (id string, ok bool) {
	i := strings.LastIndexByte(sealed, '.')
	if i < 1 || i > maxSession {
		return "", false
	}
	id = sealed[:i]
	return id, hmac.Equal([]byte(sealed[i+1:]), []byte(sessionTag(key, agent, upstream, id)))
}
