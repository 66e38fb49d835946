package postgres

import "github.com/jackc/pgx/v5/pgconn"

// Bind spells placeholders.
func Bind(query string) string { return bind(query) }

// Retry judges a code of the server's.
func Retry(code string) bool { return retry(&pgconn.PgError{Code: code}) }

// Password is what would be sent for a URL.
func Password(url string) (string, error) {
	c, err := parse(url)
	if err != nil {
		return "", err
	}
	return c.Password, nil
}
