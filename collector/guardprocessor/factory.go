package guardprocessor

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"
)

var (
	componentType = component.MustNewType("otel_agent_guard")
	mutates       = processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: true})

	errNoAllowlist = errors.New("allowlist: the path of the generated allow-list is required")
)

// Config names the generated list. There is no default and no way to switch a rule off.
type Config struct {
	Allowlist string `mapstructure:"allowlist"`
}

// Validate refuses a configuration without a list.
func (c *Config) Validate() error {
	if c.Allowlist == "" {
		return errNoAllowlist
	}
	return nil
}

// NewFactory makes the processor known to a collector.
func NewFactory() processor.Factory {
	return processor.NewFactory(
		componentType,
		func() component.Config { return &Config{} },
		processor.WithTraces(createTraces, component.StabilityLevelBeta),
		processor.WithMetrics(createMetrics, component.StabilityLevelBeta),
		processor.WithLogs(createLogs, component.StabilityLevelBeta),
	)
}

func guardFor(set processor.Settings, config component.Config) (*guard, error) {
	list, err := readAllowlist(config.(*Config).Allowlist)
	if err != nil {
		return nil, err
	}
	return newGuard(list, set.TelemetrySettings)
}

func createTraces(
	ctx context.Context, set processor.Settings, config component.Config, next consumer.Traces,
) (processor.Traces, error) {
	g, err := guardFor(set, config)
	if err != nil {
		return nil, err
	}
	return processorhelper.NewTraces(ctx, set, config, next, g.traces, mutates)
}

func createMetrics(
	ctx context.Context, set processor.Settings, config component.Config, next consumer.Metrics,
) (processor.Metrics, error) {
	g, err := guardFor(set, config)
	if err != nil {
		return nil, err
	}
	return processorhelper.NewMetrics(ctx, set, config, next, g.metrics, mutates)
}

func createLogs(
	ctx context.Context, set processor.Settings, config component.Config, next consumer.Logs,
) (processor.Logs, error) {
	g, err := guardFor(set, config)
	if err != nil {
		return nil, err
	}
	return processorhelper.NewLogs(ctx, set, config, next, g.logs, mutates)
}
