package guardprocessor

import (
	"errors"
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// valueSpec is the SPEC of the allow-list as written there.
type valueSpec struct {
	Type     string   `json:"type"`
	Pattern  string   `json:"pattern"`
	Enum     []string `json:"enum"`
	MaxItems int      `json:"max_items"`
}

// valueRule decides about one attribute's value.
type valueRule func(pcommon.Value) bool

// plainRules are the types whose values cannot hold text.
var plainRules = map[string]valueRule{
	"int":    func(v pcommon.Value) bool { return v.Type() == pcommon.ValueTypeInt },
	"bool":   func(v pcommon.Value) bool { return v.Type() == pcommon.ValueTypeBool },
	"double": func(v pcommon.Value) bool { return v.Type() == pcommon.ValueTypeInt || finite(v) },
}

func finite(v pcommon.Value) bool {
	return v.Type() == pcommon.ValueTypeDouble && !math.IsNaN(v.Double()) && !math.IsInf(v.Double(), 0)
}

var errTextBounds = errors.New("needs either a pattern or an enum")

func (s valueSpec) compile() (valueRule, error) {
	if rule, found := plainRules[s.Type]; found {
		if s.Pattern != "" || s.Enum != nil || s.MaxItems != 0 {
			return nil, fmt.Errorf("type %q takes no bounds", s.Type)
		}
		return rule, nil
	}
	text, err := s.textRule()
	if err != nil {
		return nil, err
	}
	switch s.Type {
	case "string":
		return func(v pcommon.Value) bool { return v.Type() == pcommon.ValueTypeStr && text.allows(v.Str()) }, nil
	case "string[]":
		return listRule(text, s.MaxItems)
	}
	return nil, fmt.Errorf("unknown type %q", s.Type)
}

func (s valueSpec) textRule() (*textRule, error) {
	if (s.Pattern == "") == (len(s.Enum) == 0) {
		return nil, errTextBounds
	}
	if s.Pattern == "" {
		return newMemberRule(s.Enum), nil
	}
	return newPatternRule(s.Pattern)
}

func listRule(text *textRule, maxItems int) (valueRule, error) {
	if maxItems <= 0 {
		return nil, errors.New("a list needs max_items")
	}
	return func(v pcommon.Value) bool {
		if v.Type() != pcommon.ValueTypeSlice || v.Slice().Len() > maxItems {
			return false
		}
		for _, item := range v.Slice().All() {
			if item.Type() != pcommon.ValueTypeStr || !text.allows(item.Str()) {
				return false
			}
		}
		return true
	}, nil
}

// attributeRules are the attributes that may stay in one place.
type attributeRules map[string]valueRule

// keep removes from the attributes whatever has no rule or does not fit it.
func (r attributeRules) keep(attributes pcommon.Map, removed *tally, where place) {
	attributes.RemoveIf(func(key string, value pcommon.Value) bool {
		if rule, found := r[key]; found && rule(value) {
			return false
		}
		removed.add(where)
		return true
	})
}
