package render_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/envelope/render"
)

var (
	cssBlock = regexp.MustCompile(`(?m)^( *)(:root|\.consent|\.permission|\.recompute) \{([^}]*)\}`)
	cssToken = regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`)
)

// tokens returns the colours of a scheme and a style.
func tokens(style string, dark bool) map[string]string {
	found := map[string]string{}
	for _, block := range cssBlock.FindAllStringSubmatch(render.Stylesheet(), -1) {
		nested := block[1] != "" // in the media query of the dark scheme
		if nested && !dark || block[2] != ":root" && block[2] != "."+style {
			continue
		}
		for _, token := range cssToken.FindAllStringSubmatch(block[3], -1) {
			found[token[1]] = token[2]
		}
	}
	return found
}

// contrast is that of WCAG 2.2.
func contrast(a, b string) float64 {
	light := func(colour string) float64 {
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, _ := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
			c := float64(n) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestContrast: words are told from what is behind them, in every style, light and dark, and so are
// the edges of what is acted with.
//
// covers ENV-092
func TestContrast(t *testing.T) {
	for _, style := range []string{"plain", "consent", "permission", "recompute"} {
		for _, dark := range []bool{false, true} {
			c := tokens(style, dark)
			if len(c) != 11 {
				t.Fatalf("%s, dark %v: %d colours are found", style, dark, len(c))
			}
			for _, pair := range []struct {
				ink, on string
				least   float64
			}{
				{"ink", "paper", 7}, {"ink", "sheet", 7}, {"ink", "tint", 7}, {"soft", "paper", 4.5}, {"soft", "sheet", 4.5}, {"soft", "tint", 4.5},
				{"accent", "paper", 4.5}, {"accent", "sheet", 4.5}, {"accent", "tint", 4.5}, {"on-accent", "accent", 4.5}, {"odd", "odd-back", 4.5},
				{"edge", "sheet", 3}, {"edge", "paper", 3}, {"edge", "tint", 3},
			} {
				if got := contrast(c[pair.ink], c[pair.on]); got < pair.least {
					t.Errorf("%s, dark %v: %s on %s has a contrast of %.2f, under %v", style, dark, pair.ink, pair.on, got, pair.least)
				}
			}
		}
	}
}

// TestStylesheet asks for nothing from anywhere, and hides nothing.
//
// covers ENV-090, ENV-091
func TestStylesheet(t *testing.T) {
	for _, never := range []string{"url(", "@import", "http", "display: none", "visibility", "opacity", "line-clamp", "text-overflow", "overflow: hidden", "</"} {
		if strings.Contains(render.Stylesheet(), never) {
			t.Errorf("the style sheet says %q", never)
		}
	}
	v := view(t, release())
	text := page(t, v)
	for _, never := range []string{"<style", "<script", " style=", "http:", "https:", "<img", " hidden", "aria-hidden", "<details"} {
		if strings.Contains(text, never) {
			t.Errorf("the page says %q", never)
		}
	}
}
