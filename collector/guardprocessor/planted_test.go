package guardprocessor

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// canary is a sentence as a model would think it; no rule of any list may let it pass.
const canary = "the customer sounds angry, so I should refund without asking"

const sampleList = "testdata/allowlist.json"

func sampleGuard(t testing.TB) *guard {
	t.Helper()
	list, err := readAllowlist(sampleList)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGuard(list, componenttest.NewNopTelemetrySettings())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// choices turns fuzz bytes into decisions; when they run out, every decision is the first.
type choices struct{ data []byte }

func (c *choices) next(n int) int {
	if len(c.data) == 0 {
		return 0
	}
	choice := int(c.data[0]) % n
	c.data = c.data[1:]
	return choice
}

var (
	scopes     = []string{"otel_agent", "opentelemetry.instrumentation.anthropic", "anthropic", canary}
	spanNames  = []string{canary, "chat " + canary, "execute_tool issue_refund", "GET /" + canary, "chat gpt-5"}
	eventNames = []string{canary, "exception", "gen_ai.choice", "otel_agent.model_turn"}
	keys       = []string{
		"gen_ai.request.model", "gen_ai.operation.name", "gen_ai.response.finish_reasons", "gen_ai.usage.input_tokens",
		"otel_agent.response.truncated", "error.type", "exception.type", "exception.message", "gen_ai.output.messages",
		"service.name", "http.request.method", "server.port", canary,
	}
	metricNames = []string{"otel_agent.turns", "http.client.duration", canary}
)

// plantAttributes fills in a canary under every key, in a form of the fuzzer's choice.
func (c *choices) plantAttributes(attributes pcommon.Map) {
	for _, key := range keys {
		c.plantValue(attributes.PutEmpty(key))
	}
}

func (c *choices) plantValue(value pcommon.Value) {
	switch c.next(8) {
	case 0:
		value.SetStr(canary)
	case 1:
		value.SetEmptySlice().AppendEmpty().SetStr(canary)
	case 2:
		value.SetEmptyMap().PutStr(canary, canary)
	case 3:
		value.SetEmptyBytes().FromRaw([]byte(canary))
	case 4:
		c.plantValue(value.SetEmptySlice().AppendEmpty())
	case 5:
		c.plantValue(value.SetEmptyMap().PutEmpty("reasoning"))
	case 6:
		value.SetStr("gpt-5")
	case 7:
		value.SetInt(7)
	}
}

func (c *choices) plantResource(resource pcommon.Resource) {
	c.plantAttributes(resource.Attributes())
	ref := entity.ResourceEntityRefs(resource).AppendEmpty()
	ref.SetType(canary)
	ref.SetSchemaUrl(canary)
	ref.IdKeys().Append(canary)
}

func (c *choices) plantScope(scope pcommon.InstrumentationScope) {
	scope.SetName(scopes[c.next(len(scopes))])
	scope.SetVersion(canary)
	c.plantAttributes(scope.Attributes())
}

func (c *choices) traces() ptrace.Traces {
	batch := ptrace.NewTraces()
	for range 1 + c.next(3) {
		byResource := batch.ResourceSpans().AppendEmpty()
		byResource.SetSchemaUrl(canary)
		c.plantResource(byResource.Resource())
		byScope := byResource.ScopeSpans().AppendEmpty()
		byScope.SetSchemaUrl("https://opentelemetry.io/schemas/" + canary)
		c.plantScope(byScope.Scope())
		for range 1 + c.next(3) {
			c.plantSpan(byScope.Spans().AppendEmpty())
		}
	}
	return batch
}

func (c *choices) plantSpan(span ptrace.Span) {
	span.SetTraceID([16]byte{1})
	span.SetSpanID([8]byte{2})
	span.SetName(spanNames[c.next(len(spanNames))])
	span.TraceState().FromRaw("vendor=" + canary)
	span.Status().SetCode(ptrace.StatusCodeError)
	span.Status().SetMessage(canary)
	c.plantAttributes(span.Attributes())
	for range 1 + c.next(2) {
		event := span.Events().AppendEmpty()
		event.SetName(eventNames[c.next(len(eventNames))])
		c.plantAttributes(event.Attributes())
	}
	link := span.Links().AppendEmpty()
	link.SetTraceID([16]byte{3})
	link.TraceState().FromRaw("vendor=" + canary)
	c.plantAttributes(link.Attributes())
}

func (c *choices) logs() plog.Logs {
	batch := plog.NewLogs()
	for range 1 + c.next(3) {
		byResource := batch.ResourceLogs().AppendEmpty()
		byResource.SetSchemaUrl(canary)
		c.plantResource(byResource.Resource())
		byScope := byResource.ScopeLogs().AppendEmpty()
		byScope.SetSchemaUrl(canary)
		c.plantScope(byScope.Scope())
		for range 1 + c.next(3) {
			record := byScope.LogRecords().AppendEmpty()
			record.SetEventName(eventNames[c.next(len(eventNames))])
			record.SetSeverityText(canary)
			c.plantValue(record.Body())
			c.plantAttributes(record.Attributes())
		}
	}
	return batch
}

func (c *choices) metrics() pmetric.Metrics {
	batch := pmetric.NewMetrics()
	for range 1 + c.next(3) {
		byResource := batch.ResourceMetrics().AppendEmpty()
		byResource.SetSchemaUrl(canary)
		c.plantResource(byResource.Resource())
		byScope := byResource.ScopeMetrics().AppendEmpty()
		byScope.SetSchemaUrl(canary)
		c.plantScope(byScope.Scope())
		for range 1 + c.next(5) {
			c.plantMetric(byScope.Metrics().AppendEmpty())
		}
	}
	return batch
}

func (c *choices) plantMetric(metric pmetric.Metric) {
	metric.SetName(metricNames[c.next(len(metricNames))])
	metric.SetDescription(canary)
	metric.SetUnit(canary)
	c.plantAttributes(metric.Metadata())
	switch c.next(5) {
	case 0:
		p := metric.SetEmptyHistogram().DataPoints().AppendEmpty()
		c.plantAttributes(p.Attributes())
		c.plantAttributes(p.Exemplars().AppendEmpty().FilteredAttributes())
	case 1:
		p := metric.SetEmptySum().DataPoints().AppendEmpty()
		c.plantAttributes(p.Attributes())
		c.plantAttributes(p.Exemplars().AppendEmpty().FilteredAttributes())
	case 2:
		p := metric.SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
		c.plantAttributes(p.Attributes())
		c.plantAttributes(p.Exemplars().AppendEmpty().FilteredAttributes())
	case 3:
		p := metric.SetEmptyGauge().DataPoints().AppendEmpty()
		c.plantAttributes(p.Attributes())
		c.plantAttributes(p.Exemplars().AppendEmpty().FilteredAttributes())
	case 4:
		c.plantAttributes(metric.SetEmptySummary().DataPoints().AppendEmpty().Attributes())
	}
}

// proseFree fails when the JSON form of a guarded batch holds the canary, or any text that could be a sentence.
func proseFree(t *testing.T, g *guard, marshalled []byte) {
	t.Helper()
	if strings.Contains(string(marshalled), canary) {
		t.Fatalf("the canary passed: %s", marshalled)
	}
	var tree any
	if err := json.Unmarshal(marshalled, &tree); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, text := range g.list.own.metricText {
		known[text.Description] = true
	}
	walkTexts(tree, func(text string) {
		if len(text) > maxText || (strings.ContainsAny(text, " \t\r\n") && !known[text] && !twoWords.MatchString(text)) {
			t.Fatalf("a text that could be a sentence passed: %q", text)
		}
	})
}

// twoWords are the names of our spans: an operation and what it operates on.
var twoWords = regexp.MustCompile(`^[a-z_]+ [^\s]+$`)

func walkTexts(node any, visit func(string)) {
	switch node := node.(type) {
	case string:
		visit(node)
	case []any:
		for _, item := range node {
			walkTexts(item, visit)
		}
	case map[string]any:
		for key, item := range node {
			visit(key)
			walkTexts(item, visit)
		}
	}
}
