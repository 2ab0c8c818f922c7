// Command promql asks queries of metrics, and reads rules, by Prometheus' own code, without a server.
//
// It reads from its input the text of /metrics, which is taken for what was scraped every 15 seconds of the last hour, rules
// as Prometheus has them in files, and queries. It writes of each query what it selects, how many series it results in, or
// the error; and what is wrong with the rules, their annotations' templates included.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

type input struct {
	Metrics string   `json:"metrics"`
	Rules   string   `json:"rules"`
	Queries []string `json:"queries"`
}

type output struct {
	RuleErrors []string  `json:"ruleErrors"`
	Queries    []outcome `json:"queries"`
}

type outcome struct {
	Selectors []selector `json:"selectors"`
	Labels    []string   `json:"labels"`
	Series    int        `json:"series"`
	Error     string     `json:"error,omitempty"`
}

type selector struct {
	Metric string   `json:"metric"`
	Labels []string `json:"labels"`
}

const interval = 15 * time.Second

var silent = slog.New(slog.DiscardHandler)

var expressions = parser.NewParser(parser.Options{})

func main() {
	var asked input
	must(json.NewDecoder(os.Stdin).Decode(&asked))
	result := output{RuleErrors: []string{}, Queries: []outcome{}}
	_, problems := rulefmt.Parse([]byte(asked.Rules), false, model.UTF8Validation, expressions, silent)
	for _, problem := range problems {
		result.RuleErrors = append(result.RuleErrors, problem.Error())
	}

	now := time.Now()
	scraped, err := scrape([]byte(asked.Metrics), now)
	must(err)
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, Parser: expressions})
	for _, query := range asked.Queries {
		result.Queries = append(result.Queries, ask(engine, scraped, query, now))
	}
	must(json.NewEncoder(os.Stdout).Encode(result))
}

// scrape keeps each sample as often as a Prometheus would have in an hour.
func scrape(text []byte, now time.Time) (storage.Queryable, error) {
	var all []storage.Series
	metrics := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	for {
		entry, err := metrics.Next()
		if errors.Is(err, io.EOF) {
			return &storage.MockQueryable{MockQuerier: querierOf(all)}, nil
		}
		if err != nil {
			return nil, err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var series labels.Labels
		metrics.Labels(&series)
		// A target's own, which a scrape adds.
		series = labels.NewBuilder(series).Set("instance", "a").Set("job", "rollcall-controller").Labels()
		_, _, value := metrics.Series()
		var points []promql.FPoint
		for ago := time.Hour; ago >= 0; ago -= interval {
			points = append(points, promql.FPoint{T: now.Add(-ago).UnixMilli(), F: value})
		}
		all = append(all, promql.NewStorageSeries(promql.Series{Metric: series, Floats: points}))
	}
}

func querierOf(all []storage.Series) storage.Querier {
	return &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			found := seriesSet{}
			for _, series := range all {
				fits := func(matcher *labels.Matcher) bool { return matcher.Matches(series.Labels().Get(matcher.Name)) }
				if every(matchers, fits) {
					found.rest = append(found.rest, series)
				}
			}
			return &found
		},
	}
}

// seriesSet hands out what was found, one after the other.
type seriesSet struct {
	at   storage.Series
	rest []storage.Series
}

func (set *seriesSet) Next() bool {
	if len(set.rest) == 0 {
		return false
	}
	set.at, set.rest = set.rest[0], set.rest[1:]
	return true
}

func (set *seriesSet) At() storage.Series            { return set.at }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

func every(matchers []*labels.Matcher, fits func(*labels.Matcher) bool) bool {
	return !slices.ContainsFunc(matchers, func(matcher *labels.Matcher) bool { return !fits(matcher) })
}

func ask(engine *promql.Engine, db storage.Queryable, query string, now time.Time) outcome {
	expression, err := expressions.ParseExpr(query)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	result := outcome{Selectors: []selector{}, Labels: []string{}}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			result.Selectors = append(result.Selectors, selectorOf(node))
		case *parser.AggregateExpr:
			result.Labels = append(result.Labels, node.Grouping...)
		case *parser.BinaryExpr:
			if node.VectorMatching != nil {
				result.Labels = append(result.Labels, node.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	prepared, err := engine.NewInstantQuery(context.Background(), db, nil, query, now)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	defer prepared.Close()
	answer := prepared.Exec(context.Background())
	if answer.Err != nil {
		return outcome{Error: answer.Err.Error()}
	}
	if vector, ok := answer.Value.(promql.Vector); ok {
		result.Series = len(vector)
	}
	return result
}

func selectorOf(node *parser.VectorSelector) selector {
	result := selector{Metric: node.Name, Labels: []string{}}
	for _, matcher := range node.LabelMatchers {
		if matcher.Name != labels.MetricName {
			result.Labels = append(result.Labels, matcher.Name)
		}
	}
	return result
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
