package postgres

import (
	"strconv"
	"strings"
)

// bind spells the placeholders ? and ?1 as $1. Nothing of package sqlstore has a question
// mark in a text.
func bind(query string) string {
	if !strings.Contains(query, "?") {
		return query
	}
	var b strings.Builder
	next := 0
	for i := 0; i < len(query); i++ {
		if query[i] != '?' {
			b.WriteByte(query[i])
			continue
		}
		b.WriteByte('$')
		if i+1 < len(query) && '1' <= query[i+1] && query[i+1] <= '9' {
			continue // its number follows
		}
		next++
		b.WriteString(strconv.Itoa(next))
	}
	return b.String()
}
