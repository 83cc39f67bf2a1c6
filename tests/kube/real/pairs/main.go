// Command pairs prints objects twice: in Kubernetes protobuf, and in the JSON of what Go reads from that. It prints every
// object of the JSON list on standard input, and for every kind named in the arguments (APIVERSION/KIND) an empty object
// and one with all fields.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

type pair struct {
	Name     string          `json:"name"`
	JSON     json.RawMessage `json:"json"`
	Protobuf []byte          `json:"protobuf"`
}

func main() {
	must(apiextensions.AddToScheme(scheme.Scheme))
	encoder := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	pairs := []pair{}
	add := func(name string, object runtime.Object) {
		var encoded bytes.Buffer
		must(encoder.Encode(object, &encoded))
		decoded, _, err := encoder.Decode(encoded.Bytes(), nil, nil)
		must(err)
		text, err := json.Marshal(decoded)
		must(err)
		pairs = append(pairs, pair{name, text, encoded.Bytes()})
	}
	var given []json.RawMessage
	must(json.NewDecoder(os.Stdin).Decode(&given))
	decoder := serializer.NewCodecFactory(scheme.Scheme).UniversalDeserializer()
	for number, text := range given {
		object, kind, err := decoder.Decode(text, nil, nil)
		must(err)
		object.GetObjectKind().SetGroupVersionKind(*kind)
		add(fmt.Sprintf("given %d: %s", number, kind.Kind), object)
	}
	for _, argument := range os.Args[1:] {
		cut := strings.LastIndex(argument, "/")
		kind := schema.FromAPIVersionAndKind(argument[:cut], argument[cut+1:])
		for _, full := range []bool{false, true} {
			object, err := scheme.Scheme.New(kind)
			must(err)
			if full {
				(&filler{}).fill(reflect.ValueOf(object).Elem(), map[reflect.Type]int{})
			}
			object.GetObjectKind().SetGroupVersionKind(kind)
			add(map[bool]string{false: "empty ", true: "full "}[full]+argument, object)
		}
	}
	must(json.NewEncoder(os.Stdout).Encode(pairs))
}

// filler puts a different value into every field.
type filler struct{ count int64 }

func (f *filler) fill(value reflect.Value, within map[reflect.Type]int) {
	f.count++
	switch target := value.Addr().Interface().(type) {
	case *resource.Quantity:
		*target = *resource.NewMilliQuantity(f.count*500, resource.DecimalSI)
		return
	case *meta.Time:
		*target = meta.NewTime(time.Unix(1700000000+f.count, 0).UTC())
		return
	case *meta.MicroTime:
		*target = meta.NewMicroTime(time.Unix(1700000000+f.count, 123456000).UTC())
		return
	case *intstr.IntOrString:
		if *target = intstr.FromInt32(int32(f.count)); f.count%2 == 0 {
			*target = intstr.FromString(fmt.Sprintf("%d%%", f.count))
		}
		return
	case *runtime.RawExtension:
		target.Raw = []byte(`{"a":[1,"b",null]}`)
		return
	case *meta.FieldsV1:
		*target = *meta.NewFieldsV1(`{"f:spec":{"f:a":{}}}`)
		return
	case *apiextensions.JSON:
		target.Raw = []byte(`{"b":[true]}`)
		return
	case *[]byte:
		*target = []byte(fmt.Sprintf("bytes %d", f.count))
		return
	case *meta.TypeMeta:
		return
	}
	f.fillKind(value, within)
}

func (f *filler) fillKind(value reflect.Value, within map[reflect.Type]int) {
	t := value.Type()
	switch t.Kind() {
	case reflect.Pointer:
		if within[t.Elem()] < 2 {
			value.Set(reflect.New(t.Elem()))
			f.fill(value.Elem(), within)
		}
	case reflect.Struct:
		within[t]++
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				f.fill(value.Field(i), within)
			}
		}
		within[t]--
	case reflect.Slice:
		if within[t.Elem()] < 2 {
			value.Set(reflect.MakeSlice(t, 1, 1))
			f.fill(value.Index(0), within)
		}
	case reflect.Map:
		if within[t.Elem()] < 2 {
			value.Set(reflect.MakeMap(t))
			for range 2 { // two, so that the order of keys matters
				key, item := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
				f.fill(key, within)
				f.fill(item, within)
				value.SetMapIndex(key, item)
			}
		}
	case reflect.String:
		value.SetString(fmt.Sprintf("text %d é", f.count))
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int32, reflect.Int64:
		value.SetInt(f.count)
	case reflect.Float64:
		value.SetFloat(float64(f.count) + 0.5)
	default:
		panic("no sample of " + t.String())
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
