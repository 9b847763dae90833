package guardprocessor

import (
	"context"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const (
	scopeName      = "otel-agent.local/collector/guardprocessor"
	removedCounter = "otel_agent_guard_removed"

	openTelemetrySchemaURL = `https://opentelemetry\.io/schemas/[A-Za-z0-9./_-]{1,64}`
	versionPattern         = `[0-9A-Za-z.+_-]{0,32}`
	errorTypePattern       = `[A-Za-z_][A-Za-z0-9_.]{0,95}`
	unitPattern            = `[A-Za-z0-9{}/%._-]{0,32}`

	otherScope   = "other"
	redactedName = "redacted"
	plainSpan    = "span"
	exception    = "exception"
)

// fixedRules are the rules that do not depend on the list.
type fixedRules struct {
	scopeVersion *textRule
	unit         *textRule
	severity     *textRule
	exception    attributeRules
}

// guard applies the list to whole batches. It is safe for concurrent use.
type guard struct {
	list    *allowlist
	fixed   fixedRules
	removed metric.Int64Counter
	where   [placeCount]metric.MeasurementOption
}

func newGuard(list *allowlist, settings component.TelemetrySettings) (*guard, error) {
	removed, err := settings.MeterProvider.Meter(scopeName).Int64Counter(
		removedCounter,
		metric.WithDescription("Parts of telemetry that the guard removed or replaced, by place."),
		metric.WithUnit("{part}"),
	)
	if err != nil {
		return nil, err
	}
	fixed, err := newFixedRules()
	if err != nil {
		return nil, err
	}
	g := &guard{list: list, fixed: fixed, removed: removed}
	for where, name := range placeNames {
		g.where[where] = metric.WithAttributeSet(attribute.NewSet(attribute.String("place", name)))
	}
	return g, nil
}

func newFixedRules() (fixedRules, error) {
	var c compiler
	rules := fixedRules{
		scopeVersion: c.pattern("scope version", versionPattern),
		unit:         c.pattern("unit", unitPattern),
		severity:     newMemberRule(severityTexts()),
		exception: c.attributes("exception", specs{
			"exception.type": {Type: "string", Pattern: errorTypePattern},
		}),
	}
	if len(c.faults) > 0 {
		return fixedRules{}, c.faults[0]
	}
	return rules, nil
}

// severityTexts lists the short names of the log data model: TRACE, TRACE2 ... FATAL4.
func severityTexts() []string {
	texts := []string{""}
	for _, level := range []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
		for _, step := range []string{"", "2", "3", "4"} {
			texts = append(texts, level+step)
		}
	}
	return texts
}

func (g *guard) report(ctx context.Context, removed *tally) {
	for where, count := range removed {
		if count > 0 {
			g.removed.Add(ctx, count, g.where[where])
		}
	}
}

func (g *guard) resource(resource pcommon.Resource, removed *tally) {
	g.list.resource.keep(resource.Attributes(), removed, placeResourceAttribute)
	entity.ResourceEntityRefs(resource).RemoveIf(func(entity.EntityRef) bool {
		removed.add(placeResourceEntity)
		return true
	})
}

// scope cleans the scope and tells whether it is one of our own.
func (g *guard) scope(scope pcommon.InstrumentationScope, removed *tally) bool {
	own := g.list.ownScopes.allows(scope.Name())
	if !own && !g.list.foreignScope.allows(scope.Name()) {
		scope.SetName(removed.replaced(placeScopeName, scope.Name(), otherScope))
	}
	if !own || !g.fixed.scopeVersion.allows(scope.Version()) {
		scope.SetVersion(removed.emptied(placeScopeVersion, scope.Version()))
	}
	attributeRules(nil).keep(scope.Attributes(), removed, placeScopeAttribute)
	return own
}

func (g *guard) schemaURL(url string, removed *tally) string {
	if url == "" || g.list.schemaURL.allows(url) || g.list.schemaURLs.allows(url) {
		return url
	}
	return removed.emptied(placeSchemaURL, url)
}

// firstWord cuts at the first space; most names have none.
func firstWord(text string) string {
	head, _, _ := strings.Cut(text, " ")
	return head
}
