// Answers questions, one JSON object a line, with Kubernetes' own functions.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
	kjson "sigs.k8s.io/json"
)

type question struct {
	About string            `json:"about"`
	With  []json.RawMessage `json:"with"`
}

type object = map[string]interface{}

var answers = map[string]func(with []json.RawMessage) (interface{}, error){
	"quantity": func(with []json.RawMessage) (interface{}, error) {
		q, err := resource.ParseQuantity(read[string](with[0]))
		return object{"text": q.String(), "format": string(q.Format)}, err
	},
	"arithmetic": func(with []json.RawMessage) (interface{}, error) {
		texts := read[[]string](with[0])
		sum, difference, other := resource.MustParse(texts[0]), resource.MustParse(texts[0]), resource.MustParse(texts[1])
		order := sum.Cmp(other)
		sum.Add(other)
		difference.Sub(other)
		return []interface{}{order, sum.String(), difference.String()}, nil
	},
	"human": func(with []json.RawMessage) (interface{}, error) {
		return duration.HumanDuration(time.Duration(read[int64](with[0])) * time.Second), nil
	},
	"labels": func(with []json.RawMessage) (interface{}, error) {
		selector, err := labels.Parse(read[string](with[0]))
		return selection(selector, with[1], err)
	},
	"selector object": func(with []json.RawMessage) (interface{}, error) {
		selector, err := metav1.LabelSelectorAsSelector(read[*metav1.LabelSelector](with[0]))
		return selection(selector, with[1], err)
	},
	"selector errors": func(with []json.RawMessage) (interface{}, error) {
		options := metavalidation.LabelSelectorValidationOptions{}
		selector := read[*metav1.LabelSelector](with[0])
		return listed(metavalidation.ValidateLabelSelector(selector, options, field.NewPath("spec", "selector"))), nil
	},
	"fields": func(with []json.RawMessage) (interface{}, error) {
		selector, err := fields.ParseSelector(read[string](with[0]))
		if err != nil {
			return nil, err
		}
		return selector.String(), nil
	},
	"name": func(with []json.RawMessage) (interface{}, error) {
		problems := names[read[string](with[0])](read[string](with[1]))
		return append([]string{}, problems...), nil
	},
	"metadata": func(with []json.RawMessage) (interface{}, error) {
		meta := read[metav1.ObjectMeta](with[0])
		path := field.NewPath("metadata")
		return listed(apivalidation.ValidateObjectMeta(&meta, read[bool](with[1]), apivalidation.NameIsDNSSubdomain, path)), nil
	},
	"metadata update": func(with []json.RawMessage) (interface{}, error) {
		after, before := read[metav1.ObjectMeta](with[0]), read[metav1.ObjectMeta](with[1])
		return listed(apivalidation.ValidateObjectMetaUpdate(&after, &before, field.NewPath("metadata"))), nil
	},
	"json patch": func(with []json.RawMessage) (interface{}, error) {
		patch, err := jsonpatch.DecodePatch(with[1])
		if err != nil {
			return nil, err
		}
		patched, err := patch.Apply(with[0])
		return json.RawMessage(patched), err
	},
	"merge patch": func(with []json.RawMessage) (interface{}, error) {
		patched, err := jsonpatch.MergePatch(with[0], with[1])
		return json.RawMessage(patched), err
	},
	"strategic patch": func(with []json.RawMessage) (interface{}, error) {
		kinds := map[string]interface{}{
			"Pod": &corev1.Pod{}, "Service": &corev1.Service{}, "Deployment": &appsv1.Deployment{}, "ConfigMap": &corev1.ConfigMap{},
		}
		live, patch := value(with[1]).(object), value(with[2]).(object)
		patched, err := strategicpatch.StrategicMergeMapPatch(live, patch, kinds[read[string](with[0])])
		return patched, err
	},
	"jsonpath": func(with []json.RawMessage) (interface{}, error) {
		template, relaxed := read[string](with[0]), read[bool](with[1])
		path := jsonpath.New("path").AllowMissingKeys(relaxed)
		if err := path.Parse(template); err != nil {
			return nil, err
		}
		text := &bytes.Buffer{}
		if err := path.Execute(text, value(with[2])); err != nil {
			return nil, err
		}
		return text.String(), nil
	},
	"cells": func(with []json.RawMessage) (interface{}, error) {
		convertor, err := tableconvertor.New(read[[]apiextensionsv1.CustomResourceColumnDefinition](with[0]))
		if err != nil {
			return nil, err
		}
		item := &unstructured.Unstructured{Object: value(with[1]).(object)}
		table, err := convertor.ConvertToTable(context.Background(), item, nil)
		if err != nil {
			return nil, err
		}
		return table.Rows[0].Cells, nil
	},
}

var names = map[string]func(string) []string{
	"dns1123_label":              validation.IsDNS1123Label,
	"dns1123_subdomain":          validation.IsDNS1123Subdomain,
	"dns1035_label":              validation.IsDNS1035Label,
	"wildcard_dns1123_subdomain": validation.IsWildcardDNS1123Subdomain,
	"qualified_name":             validation.IsQualifiedName,
	"label_value":                validation.IsValidLabelValue,
	"env_var_name":               validation.IsRelaxedEnvVarName,
	"config_map_key":             validation.IsConfigMapKey,
	"port_name":                  validation.IsValidPortName,
	"http_header_name":           validation.IsHTTPHeaderName,
	"percent":                    validation.IsValidPercent,
	"path_segment":               content.IsPathSegmentName,
	"path_segment_prefix":        content.IsPathSegmentPrefix,
}

func selection(selector labels.Selector, sets json.RawMessage, err error) (interface{}, error) {
	if err != nil {
		return nil, err
	}
	matched := []bool{}
	for _, set := range read[[]map[string]string](sets) {
		matched = append(matched, selector.Matches(labels.Set(set)))
	}
	return object{"text": selector.String(), "matched": matched}, nil
}

func listed(errors field.ErrorList) [][]string {
	list := [][]string{}
	for _, each := range errors {
		list = append(list, []string{string(each.Type), each.Field, each.ErrorBody()})
	}
	return list
}

func read[T any](raw json.RawMessage) T {
	var into T
	if err := json.Unmarshal(raw, &into); err != nil {
		panic(err)
	}
	return into
}

// value decodes as the API server does: whole numbers stay whole.
func value(raw json.RawMessage) interface{} {
	var into interface{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &into); err != nil {
		panic(err)
	}
	return into
}

func answer(asked question) (said object) {
	defer func() {
		if panicked := recover(); panicked != nil {
			said = object{"panic": fmt.Sprint(panicked)}
		}
	}()
	result, err := answers[asked.About](asked.With)
	if err != nil {
		return object{"error": err.Error()}
	}
	return object{"result": result}
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		said, err := json.Marshal(answer(read[question](in.Bytes())))
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(out, "%s\n", said)
	}
}
