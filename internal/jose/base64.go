package jose

import "encoding/base64"

// EncodeBase64 returns the base64url form of data, without padding (RFC 7515 §2).
func EncodeBase64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// DecodeBase64 reads unpadded base64url and accepts exactly what [EncodeBase64]
// writes. The error is an [*Error] with the part "token".
func DecodeBase64(s string) ([]byte, error) {
	// The strict decoder still skips line ends, so every byte is looked at first.
	for i := range len(s) {
		if !inAlphabet(s[i]) {
			return nil, fault("token", "byte outside the base64url alphabet")
		}
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, fault("token", "not strict base64url")
	}
	return data, nil
}

func inAlphabet(b byte) bool {
	return 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '_'
}
