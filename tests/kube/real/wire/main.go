// Command wire prints how Go writes the built-in API types as JSON: for every struct type that can be reached from a
// registered kind, its fields with their Go types, which of them are pointers, and what an empty value looks like.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

type fieldInfo struct {
	// Go is the type as error texts name it, without pointer stars.
	Go string `json:"go"`
	// Of names the struct type of the value, of the items of a list or of the values of a map.
	Of      string `json:"of,omitempty"`
	Pointer bool   `json:"pointer,omitempty"`
	// Protobuf is the field's number in protobuf, after those of the fields that hold it where JSON has no such level.
	Protobuf []string `json:"protobuf,omitempty"`
}

type typeInfo struct {
	Go string `json:"go"`
	// Custom types write and read themselves.
	Custom bool                 `json:"custom,omitempty"`
	Fields map[string]fieldInfo `json:"fields,omitempty"`
	// Zero is the JSON of the empty value: what is in it is always written.
	Zero json.RawMessage `json:"zero"`
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func main() {
	found := map[string]typeInfo{}
	for _, registered := range scheme.Scheme.AllKnownTypes() {
		visit(registered, found)
	}
	for _, root := range []any{
		apiextensions.CustomResourceDefinition{}, apiextensions.CustomResourceDefinitionList{}, apiextensions.ConversionReview{},
		meta.Table{}, meta.PartialObjectMetadata{}, meta.PartialObjectMetadataList{}, meta.List{}, meta.TableOptions{},
	} {
		visit(reflect.TypeOf(root), found)
	}
	encoder := json.NewEncoder(os.Stdout)
	if err := encoder.Encode(found); err != nil {
		panic(err)
	}
}

func visit(t reflect.Type, found map[string]typeInfo) {
	name := publicName(t)
	if _, seen := found[name]; seen {
		return
	}
	zero, err := json.Marshal(reflect.New(t).Interface())
	if err != nil {
		panic(err)
	}
	info := typeInfo{Go: t.String(), Zero: zero}
	info.Custom = t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
	found[name] = info
	if info.Custom {
		return
	}
	info.Fields = map[string]fieldInfo{}
	addFields(t, nil, info.Fields, found)
	found[name] = info
}

func addFields(t reflect.Type, inlined []string, into map[string]fieldInfo, found map[string]typeInfo) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() {
			continue
		}
		path := append(slices.Clone(inlined), protobufNumber(field))
		if name == "" && (field.Anonymous || strings.Contains(options, "inline")) {
			addFields(field.Type, path, into, found)
			continue
		}
		info := fieldInfo{}
		if !slices.Contains(path, "") {
			info.Protobuf = path
		}
		value := field.Type
		for value.Kind() == reflect.Pointer {
			value, info.Pointer = value.Elem(), true
		}
		info.Go = value.String()
		for item := value; ; item = item.Elem() {
			if item.Kind() == reflect.Struct {
				info.Of = publicName(item)
				visit(item, found)
			}
			if kind := item.Kind(); kind != reflect.Slice && kind != reflect.Map && kind != reflect.Pointer {
				break
			}
		}
		into[name] = info
	}
}

// protobufNumber is empty for what protobuf does not carry, such as a kind's own name.
func protobufNumber(field reflect.StructField) string {
	if parts := strings.Split(field.Tag.Get("protobuf"), ","); len(parts) > 1 {
		return parts[1]
	}
	return ""
}

// publicName is the name of a type in the OpenAPI documents.
func publicName(t reflect.Type) string {
	if named, ok := reflect.New(t).Interface().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	host, rest, _ := strings.Cut(t.PkgPath(), "/")
	labels := strings.Split(host, ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	return strings.Join(append(labels, strings.Split(rest, "/")...), ".") + "." + t.Name()
}
