package guardprocessor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

const listVersion = 1

// listFile is schema/allowlist.json as written there.
type listFile struct {
	Version    int      `json:"version"`
	SchemaURLs []string `json:"schema_urls"` // beside those of OpenTelemetry; optional
	Scopes     struct {
		Own            []string `json:"own"`
		ForeignPattern string   `json:"foreign_pattern"`
	} `json:"scopes"`
	Resource struct {
		Attributes specs `json:"attributes"`
	} `json:"resource"`
	Own struct {
		Span struct {
			Name       string `json:"name"`
			Attributes specs  `json:"attributes"`
		} `json:"span"`
		Log struct {
			EventNames []string `json:"event_names"`
			Attributes specs    `json:"attributes"`
		} `json:"log"`
		Metric struct {
			Names      []string `json:"names"`
			Attributes specs    `json:"attributes"`
		} `json:"metric"`
	} `json:"own"`
	MetricText map[string]metricText `json:"metric_text"`
	Foreign    struct {
		Span struct {
			NameHeads  []string `json:"name_heads"`
			Attributes specs    `json:"attributes"`
		} `json:"span"`
		Log struct {
			Attributes specs `json:"attributes"`
		} `json:"log"`
		Metric struct {
			Name       string `json:"name"`
			Attributes specs  `json:"attributes"`
		} `json:"metric"`
	} `json:"foreign"`
}

type specs map[string]valueSpec

type metricText struct {
	Unit        string `json:"unit"`
	Description string `json:"description"`
}

// allowlist is the compiled list.
type allowlist struct {
	ownScopes    *textRule
	foreignScope *textRule
	schemaURL    *textRule
	schemaURLs   *textRule
	resource     attributeRules
	own          ownRules
	foreign      foreignRules
}

type ownRules struct {
	spanName   *textRule
	span       attributeRules
	eventNames *textRule
	log        attributeRules
	metrics    *textRule
	metricText map[string]metricText
	point      attributeRules
}

type foreignRules struct {
	spanHeads *textRule
	span      attributeRules
	log       attributeRules
	metric    *textRule
	point     attributeRules
}

// readAllowlist reads and compiles the list; any doubt about it is an error.
func readAllowlist(path string) (*allowlist, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("allow-list: %w", err)
	}
	list, err := parseAllowlist(content)
	if err != nil {
		return nil, fmt.Errorf("allow-list %s: %w", path, err)
	}
	return list, nil
}

func parseAllowlist(content []byte) (*allowlist, error) {
	var file listFile
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the end of the list")
	}
	if file.Version != listVersion {
		return nil, fmt.Errorf("version %d, want %d", file.Version, listVersion)
	}
	return file.compile()
}

func (f *listFile) compile() (*allowlist, error) {
	var c compiler
	list := &allowlist{
		ownScopes:    c.members("scopes.own", f.Scopes.Own),
		foreignScope: c.pattern("scopes.foreign_pattern", f.Scopes.ForeignPattern),
		schemaURL:    c.pattern("schema URL", openTelemetrySchemaURL),
		schemaURLs:   newMemberRule(f.SchemaURLs),
		resource:     c.attributes("resource", f.Resource.Attributes),
		own: ownRules{
			spanName:   c.pattern("own.span.name", f.Own.Span.Name),
			span:       c.attributes("own.span", f.Own.Span.Attributes),
			eventNames: c.members("own.log.event_names", f.Own.Log.EventNames),
			log:        c.attributes("own.log", f.Own.Log.Attributes),
			metrics:    c.members("own.metric.names", f.Own.Metric.Names),
			metricText: f.MetricText,
			point:      c.attributes("own.metric", f.Own.Metric.Attributes),
		},
		foreign: foreignRules{
			spanHeads: c.members("foreign.span.name_heads", f.Foreign.Span.NameHeads),
			span:      c.attributes("foreign.span", f.Foreign.Span.Attributes),
			log:       c.attributes("foreign.log", f.Foreign.Log.Attributes),
			metric:    c.pattern("foreign.metric.name", f.Foreign.Metric.Name),
			point:     c.attributes("foreign.metric", f.Foreign.Metric.Attributes),
		},
	}
	return list, errors.Join(c.faults...)
}

// compiler collects every fault of a list, so that one start shows them all.
type compiler struct{ faults []error }

func (c *compiler) fault(where string, err error) {
	c.faults = append(c.faults, fmt.Errorf("%s: %w", where, err))
}

func (c *compiler) members(where string, members []string) *textRule {
	if len(members) == 0 {
		c.fault(where, errors.New("missing or empty"))
	}
	return newMemberRule(members)
}

func (c *compiler) pattern(where, pattern string) *textRule {
	if pattern == "" {
		c.fault(where, errors.New("missing"))
	}
	rule, err := newPatternRule(pattern)
	if err != nil {
		c.fault(where, err)
	}
	return rule
}

func (c *compiler) attributes(where string, listed specs) attributeRules {
	if listed == nil {
		c.fault(where+".attributes", errors.New("missing"))
	}
	rules := make(attributeRules, len(listed))
	for _, key := range slices.Sorted(maps.Keys(listed)) {
		rule, err := listed[key].compile()
		if err != nil {
			c.fault(where+".attributes."+key, err)
		}
		rules[key] = rule
	}
	return rules
}
