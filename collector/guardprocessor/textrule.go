package guardprocessor

import (
	"hash/maphash"
	"regexp"
	"sync/atomic"
	"unicode/utf8"
)

const (
	// maxText is the length in characters above which no text is looked at any further.
	maxText = 256
	// rememberedTexts bounds what one rule remembers; a power of two.
	rememberedTexts = 512
)

var hashSeed = maphash.MakeSeed()

// textRule says which texts may stay: the members of a closed set, or what a pattern matches as a whole.
//
// Matching is the dearest step of the guard, and telemetry repeats its values, so texts that matched are remembered in a
// table of fixed size without locks: a collision replaces the older one. Refused texts are never remembered, since
// they may be the very thing that must not be kept.
type textRule struct {
	members map[string]struct{}
	pattern *regexp.Regexp
	matched [rememberedTexts]atomic.Pointer[string]
}

func newMemberRule(members []string) *textRule {
	rule := &textRule{members: make(map[string]struct{}, len(members))}
	for _, member := range members {
		rule.members[member] = struct{}{}
	}
	return rule
}

// newPatternRule anchors the pattern itself, so that a list which forgot to does not open a hole.
func newPatternRule(pattern string) (*textRule, error) {
	compiled, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, err
	}
	return &textRule{pattern: compiled}, nil
}

func (r *textRule) allows(text string) bool {
	if r.members != nil {
		_, found := r.members[text]
		return found
	}
	slot := &r.matched[maphash.String(hashSeed, text)&(rememberedTexts-1)]
	if known := slot.Load(); known != nil && *known == text {
		return true
	}
	if !short(text) || !r.pattern.MatchString(text) {
		return false
	}
	slot.Store(&text)
	return true
}

func short(text string) bool {
	if len(text) > maxText*utf8.UTFMax || !utf8.ValidString(text) {
		return false
	}
	return len(text) <= maxText || utf8.RuneCountInString(text) <= maxText
}
