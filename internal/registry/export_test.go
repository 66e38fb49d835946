package registry

// Final reports whether a refusal for err is signed as final.
func Final(err error) bool {
	_, final := verdict(err)
	return final
}
