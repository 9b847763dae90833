package guardprocessor

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/processor/processortest"
)

func sampleText(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(sampleList)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func startError(t *testing.T, path string) error {
	t.Helper()
	set, config := processortest.NewNopSettings(componentType), &Config{Allowlist: path}
	_, traces := NewFactory().CreateTraces(t.Context(), set, config, consumertest.NewNop())
	_, metrics := NewFactory().CreateMetrics(t.Context(), set, config, consumertest.NewNop())
	_, logs := NewFactory().CreateLogs(t.Context(), set, config, consumertest.NewNop())
	if (traces == nil) != (metrics == nil) || (traces == nil) != (logs == nil) {
		t.Fatalf("the signals disagree: traces %v, metrics %v, logs %v", traces, metrics, logs)
	}
	return traces
}

func TestACompleteListStarts(t *testing.T) {
	if err := startError(t, sampleList); err != nil {
		t.Fatal(err)
	}
}

func TestTheGeneratedListStarts(t *testing.T) {
	generated := filepath.Join("..", "..", "schema", "allowlist.json")
	if _, err := os.Stat(generated); err != nil {
		t.Skip("schema/allowlist.json is not there")
	}
	if err := startError(t, generated); err != nil {
		t.Fatal(err)
	}
}

func TestAPathIsRequired(t *testing.T) {
	if err := NewFactory().CreateDefaultConfig().(*Config).Validate(); err == nil {
		t.Fatal("a configuration without a list was accepted")
	}
}

func TestAMissingListDoesNotStart(t *testing.T) {
	if err := startError(t, filepath.Join(t.TempDir(), "absent.json")); err == nil {
		t.Fatal("started without a list")
	}
}

func TestADoubtfulListDoesNotStart(t *testing.T) {
	whole := sampleText(t)
	doubtful := map[string]string{
		"empty":             "",
		"not JSON":          "version: 1",
		"no content":        "{}",
		"cut short":         whole[:len(whole)/2],
		"text after":        whole + "{}",
		"another version":   strings.Replace(whole, `"version": 1`, `"version": 2`, 1),
		"unknown section":   strings.Replace(whole, `"version": 1`, `"version": 1, "exceptions": []`, 1),
		"unknown type":      strings.Replace(whole, `"type": "int"`, `"type": "text"`, 1),
		"unknown bound":     strings.Replace(whole, `"type": "int"`, `"type": "int", "unless": "x"`, 1),
		"bounds of a count": strings.Replace(whole, `"type": "int"`, `"type": "int", "pattern": "^x$"`, 1),
		"bad pattern":       strings.Replace(whole, `"pattern": "`, `"pattern": "(`, 1),
		"no pattern":        strings.Replace(whole, `"pattern": "`, `"pattern": "", "enum": [], "max_items": 0, "type": "string", "x": "`, 1),
		"list unbounded":    strings.Replace(whole, `"max_items": 64`, `"max_items": 0`, 1),
		"no own scope":      strings.Replace(whole, `"otel_agent"`, ``, 1),
	}
	for name, text := range doubtful {
		t.Run(name, func(t *testing.T) {
			if text == whole {
				t.Fatal("the case does not change the list")
			}
			path := filepath.Join(t.TempDir(), "allowlist.json")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := startError(t, path); err == nil {
				t.Fatal("started with a doubtful list")
			}
		})
	}
}

func TestEveryFaultOfAListIsReported(t *testing.T) {
	_, err := parseAllowlist([]byte(`{"version": 1}`))
	for _, missing := range []string{"scopes.own", "own.span.name", "own.log.event_names", "foreign.metric.name", "resource.attributes"} {
		if err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("%s is not named in: %v", missing, err)
		}
	}
}

func TestPatternsMatchTheWholeText(t *testing.T) {
	rule, err := newPatternRule("^a|b$")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"a": true, "b": true, "a thought": false, "thought b": false, "b\n": false} {
		if rule.allows(text) != want {
			t.Errorf("%q: got %v", text, !want)
		}
	}
}

func TestLengthIsBoundedBeforeThePattern(t *testing.T) {
	rule, err := newPatternRule(`^\S+$`)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		strings.Repeat("x", maxText):   true,
		strings.Repeat("é", maxText):   true,
		strings.Repeat("x", maxText+1): false,
		strings.Repeat("é", maxText+1): false,
		strings.Repeat("x", 1024*1024): false,
		"\xff\xfe":                     false,
	} {
		if rule.allows(text) != want {
			t.Errorf("%d bytes: got %v", len(text), !want)
		}
	}
}

func TestRefusedTextIsNotRemembered(t *testing.T) {
	rule, err := newPatternRule(`^[a-z]+$`)
	if err != nil {
		t.Fatal(err)
	}
	rule.allows(canary)
	rule.allows("word")
	remembered := 0
	for i := range rule.matched {
		if text := rule.matched[i].Load(); text != nil {
			remembered++
			if *text != "word" {
				t.Errorf("remembers %q", *text)
			}
		}
	}
	if remembered != 1 {
		t.Errorf("remembers %d texts, want 1", remembered)
	}
}

func TestTheGeneratedListLetsNoCanaryPass(t *testing.T) {
	list, err := readAllowlist(filepath.Join("..", "..", "schema", "allowlist.json"))
	if err != nil {
		t.Skip("schema/allowlist.json is not there")
	}
	g, err := newGuard(list, componenttest.NewNopTelemetrySettings())
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		shape := make([]byte, 300)
		for i := range shape {
			shape[i] = byte(random.Uint32())
		}
		guardTraces(t, g, (&choices{shape}).traces())
		guardLogs(t, g, (&choices{shape}).logs())
		guardMetrics(t, g, (&choices{shape}).metrics())
	}
}
