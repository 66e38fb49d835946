package envelope

import (
	"errors"
	"maps"
	"slices"

	"github.com/bindery/bindery/jcs"
)

// maxEvidence bounds the digests of one finding.
const maxEvidence = 64

// Evidence says what the findings of one envelope rest on: for some of them, the SHA-256 of the
// documents that the agent saw, byte for byte. It stands beside the envelope, whose members are
// closed, and shows no more than that a document is the same one (ENV-118). The zero Evidence is
// none.
type Evidence struct {
	envelope Digest
	digests  map[int][]jcs.Digest // by the index of the finding; never changed
}

// NewEvidence fixes the evidence of e: by the index of a finding, one or more sha256 digests.
func NewEvidence(e Envelope, digests map[int][]jcs.Digest) (Evidence, error) {
	if e.IsZero() || len(digests) == 0 {
		return Evidence{}, errors.New("envelope: evidence is of an envelope, for one finding at least (ENV-118)")
	}
	ev := Evidence{envelope: e.Digest(), digests: map[int][]jcs.Digest{}}
	for finding, list := range digests {
		if finding < 0 || finding >= e.c.findings || len(list) == 0 || len(list) > maxEvidence {
			return Evidence{}, errors.New("envelope: evidence is for a finding of its envelope, in 1 to 64 digests (ENV-118)")
		}
		for _, d := range list {
			if _, err := ParseDigest(string(d)); err != nil {
				return Evidence{}, err
			}
		}
		ev.digests[finding] = slices.Clone(list)
	}
	return ev, nil
}

// EvidenceDigest returns the digest of one document, in its exact bytes.
func EvidenceDigest(document []byte) jcs.Digest { return textDigest(document) }

// IsZero reports whether ev is none.
func (ev Evidence) IsZero() bool { return len(ev.digests) == 0 }

// Envelope returns the digest of the envelope whose findings these are.
func (ev Evidence) Envelope() Digest { return ev.envelope }

// Findings returns the indices of the findings that have evidence, in order.
func (ev Evidence) Findings() []int { return slices.Sorted(maps.Keys(ev.digests)) }

// Of returns the digests of one finding; the slice is the caller's.
func (ev Evidence) Of(finding int) []jcs.Digest { return slices.Clone(ev.digests[finding]) }

// An EvidenceReport says what became of the evidence when the documents were hashed anew.
type EvidenceReport struct {
	Missing  map[int][]jcs.Digest // by finding, the digests that none of the documents has
	Unlinked []int                // findings of the envelope for which there is no evidence at all
	Unused   []jcs.Digest         // documents that no finding rests on
}

// Holds reports whether every digest was found again. It does not ask for evidence of every finding.
func (r EvidenceReport) Holds() bool { return len(r.Missing) == 0 }

// Check holds documents that were hashed anew, each by [EvidenceDigest], against the digests that were
// kept. The error says that ev is of another envelope.
func (ev Evidence) Check(e Envelope, documents ...jcs.Digest) (EvidenceReport, error) {
	if e.IsZero() || e.Digest() != ev.envelope {
		return EvidenceReport{}, errors.New("envelope: the evidence is that of another envelope (ENV-118)")
	}
	used := map[jcs.Digest]bool{}
	for _, d := range documents {
		used[d] = false
	}
	report := EvidenceReport{Missing: map[int][]jcs.Digest{}}
	for finding := range e.c.findings {
		if len(ev.digests[finding]) == 0 {
			report.Unlinked = append(report.Unlinked, finding)
		}
		for _, d := range ev.digests[finding] {
			if _, found := used[d]; !found {
				report.Missing[finding] = append(report.Missing[finding], d)
				continue
			}
			used[d] = true
		}
	}
	for _, d := range slices.Sorted(maps.Keys(used)) {
		if !used[d] {
			report.Unused = append(report.Unused, d)
		}
	}
	return report, nil
}
