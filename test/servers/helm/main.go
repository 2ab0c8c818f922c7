// Command helm renders and lints a chart by Helm's own engine, without a cluster: each time that it is asked to.
//
// It reads a JSON list from its input: renderings, each with the folder of a chart, a release, its values and the version
// of Kubernetes. It writes a JSON list of what became of each: the templates' texts, what lint says, or the error.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
)

type rendering struct {
	Chart       string         `json:"chart"`
	Release     string         `json:"release"`
	Namespace   string         `json:"namespace"`
	KubeVersion string         `json:"kubeVersion"`
	Values      map[string]any `json:"values"`
	Lint        bool           `json:"lint"`
}

type outcome struct {
	Files    map[string]string `json:"files,omitempty"`
	Error    string            `json:"error,omitempty"`
	Messages []string          `json:"messages,omitempty"`
}

func main() {
	var asked []rendering
	must(json.NewDecoder(os.Stdin).Decode(&asked))
	outcomes := make([]outcome, 0, len(asked))
	for _, each := range asked {
		outcomes = append(outcomes, answer(each))
	}
	must(json.NewEncoder(os.Stdout).Encode(outcomes))
}

func answer(each rendering) outcome {
	version, err := chartutil.ParseKubeVersion(each.KubeVersion)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	result := outcome{}
	if each.Lint {
		for _, message := range lint.AllWithKubeVersion(each.Chart, each.Values, each.Namespace, version).Messages {
			result.Messages = append(result.Messages, message.Error())
		}
	}
	if result.Files, err = render(each, version); err != nil {
		result.Error = err.Error()
	}
	return result
}

// render does what `helm template` does before it sorts: the chart's kubeVersion, the values' schema, and the templates.
// Files of crds/ are installed as they stand.
func render(each rendering, version *chartutil.KubeVersion) (map[string]string, error) {
	chart, err := loader.Load(each.Chart)
	if err != nil {
		return nil, err
	}
	if wanted := chart.Metadata.KubeVersion; wanted != "" && !chartutil.IsCompatibleRange(wanted, version.String()) {
		return nil, fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s", wanted, version)
	}
	release := chartutil.ReleaseOptions{Name: each.Release, Namespace: each.Namespace, Revision: 1, IsInstall: true}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	values, err := chartutil.ToRenderValues(chart, each.Values, release, capabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return nil, err
	}
	for _, object := range chart.CRDObjects() {
		files[object.Filename] = string(object.File.Data)
	}
	return files, nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
