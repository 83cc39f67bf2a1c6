// Command internaltypes prints the inner form of the kinds whose error texts show it: kube-apiserver validates a form
// of its own, whose Go field names, order and empty values appear in refusals. Run it in the module tests/kube/real.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	v1apps "k8s.io/api/apps/v1"
	v1batch "k8s.io/api/batch/v1"
	v1core "k8s.io/api/core/v1"
	v1policy "k8s.io/api/policy/v1"
	v1rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/policy"
	"k8s.io/kubernetes/pkg/apis/rbac"
)

// A field is shown under Name, comes from From in the published form, and has a type: a struct's name, or one of
// string, int, bool, quantity, time and intstr; with [] , * or map before it.
type field struct {
	Name string `json:"name"`
	From string `json:"from"`
	Type string `json:"type"`
	// Omit tells that the field is not shown when empty.
	Omit bool `json:"omit,omitempty"`
}

var known = map[string][]field{}

func main() {
	for _, pair := range [][2]any{
		{core.Pod{}, v1core.Pod{}},
		{core.PodTemplateSpec{}, v1core.PodTemplateSpec{}},
		{core.Service{}, v1core.Service{}},
		{core.PersistentVolumeClaim{}, v1core.PersistentVolumeClaim{}},
		{core.Node{}, v1core.Node{}},
		{core.ResourceQuota{}, v1core.ResourceQuota{}},
		{core.Event{}, v1core.Event{}},
		{batch.Job{}, v1batch.Job{}},
		{apps.Deployment{}, v1apps.Deployment{}},
		{policy.PodDisruptionBudget{}, v1policy.PodDisruptionBudget{}},
		{rbac.RoleBinding{}, v1rbac.RoleBinding{}},
	} {
		describe(reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1]))
	}
	if err := json.NewEncoder(os.Stdout).Encode(known); err != nil {
		panic(err)
	}
}

func describe(inner, published reflect.Type) {
	if _, done := known[inner.Name()]; done {
		return
	}
	known[inner.Name()] = nil
	known[inner.Name()] = fields(inner, published)
}

func fields(inner, published reflect.Type) []field {
	found := []field{}
	for i := range inner.NumField() {
		f := inner.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Type == reflect.TypeFor[meta.TypeMeta]() {
			continue
		}
		if f.Anonymous && name == "" {
			same := published
			if p, ok := published.FieldByName(f.Name); ok && p.Anonymous && p.Type.Name() == f.Type.Name() {
				same = p.Type
				if tag, _, _ := strings.Cut(p.Tag.Get("json"), ","); tag != "" {
					for _, nested := range fields(f.Type, p.Type) {
						nested.From = tag + "." + nested.From
						found = append(found, nested)
					}
					continue
				}
			}
			found = append(found, fields(f.Type, same)...)
			continue
		}
		shown := field{Name: f.Name, Omit: strings.Contains(options, "omit")}
		if name != "" {
			shown.Name = name
		}
		other := f.Type
		if p, ok := published.FieldByName(f.Name); ok {
			shown.From, _, _ = strings.Cut(p.Tag.Get("json"), ",")
			other = p.Type
		}
		shown.Type = typeOf(f.Type, other)
		found = append(found, shown)
	}
	return found
}

func typeOf(inner, published reflect.Type) string {
	switch inner {
	case reflect.TypeFor[resource.Quantity]():
		return "quantity"
	case reflect.TypeFor[meta.Time](), reflect.TypeFor[meta.MicroTime]():
		return "time"
	case reflect.TypeFor[intstr.IntOrString]():
		return "intstr"
	case reflect.TypeFor[meta.FieldsV1]():
		return "any"
	}
	if published.Kind() == reflect.Pointer && inner.Kind() != reflect.Pointer {
		published = published.Elem()
	}
	element := func() reflect.Type {
		if published.Kind() == inner.Kind() {
			return published.Elem()
		}
		return inner.Elem()
	}
	switch inner.Kind() {
	case reflect.Pointer:
		if published.Kind() != reflect.Pointer {
			return "*" + typeOf(inner.Elem(), published)
		}
		return "*" + typeOf(inner.Elem(), published.Elem())
	case reflect.Slice:
		return "[]" + typeOf(inner.Elem(), element())
	case reflect.Map:
		return "map" + typeOf(inner.Elem(), element())
	case reflect.Struct:
		if published.Kind() != reflect.Struct {
			published = inner
		}
		describe(inner, published)
		return inner.Name()
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Float64:
		return "any"
	}
	return "int"
}
