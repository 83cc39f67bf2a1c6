// Program rewrite reads a Ray object with KubeRay's typed client and writes it back, as often as asked, with nothing
// changed but an annotation of the object that counts: every write is a new version, and none is a new spec.
//
// Usage: rewrite KUBECONFIG NAMESPACE KIND NAME TIMES, where KIND is rayservice or raycluster.
//
// Without arguments it decodes every line of its input into KubeRay's Go types and prints what they encode to: what a
// typed client makes of an object that it read.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/pkg/client/clientset/versioned"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

type object interface {
	GetAnnotations() map[string]string
	SetAnnotations(map[string]string)
}

func count(found object, number int) {
	annotations := map[string]string{}
	for name, value := range found.GetAnnotations() {
		annotations[name] = value
	}
	annotations["example.com/rewritten"] = strconv.Itoa(number)
	found.SetAnnotations(annotations)
}

// typed decodes one line, by its kind, and encodes it again.
func typed(line []byte) ([]byte, error) {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(line, &kind); err != nil {
		return nil, err
	}
	var found any
	switch kind.Kind {
	case "RayService":
		found = &rayv1.RayService{}
	case "RayJob":
		found = &rayv1.RayJob{}
	default:
		found = &rayv1.RayCluster{}
	}
	if err := json.Unmarshal(line, found); err != nil {
		return nil, err
	}
	return json.Marshal(found)
}

func decodeLines() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		written, err := typed(lines.Bytes())
		if err != nil {
			fail(fmt.Errorf("%w: %s", err, lines.Bytes()))
		}
		fmt.Println(string(written))
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
}

func main() {
	if len(os.Args) == 1 {
		decodeLines()
		return
	}
	kubeconfig, namespace, kind, name := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	times, err := strconv.Atoi(os.Args[5])
	if err != nil {
		fail(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		fail(err)
	}
	config.QPS, config.Burst = 1000, 1000
	ray := versioned.NewForConfigOrDie(config).RayV1()
	ctx := context.Background()
	for number := 1; number <= times; {
		if kind == "rayservice" {
			found, readErr := ray.RayServices(namespace).Get(ctx, name, metav1.GetOptions{})
			if readErr != nil {
				fail(readErr)
			}
			count(found, number)
			_, err = ray.RayServices(namespace).Update(ctx, found, metav1.UpdateOptions{})
		} else {
			found, readErr := ray.RayClusters(namespace).Get(ctx, name, metav1.GetOptions{})
			if readErr != nil {
				fail(readErr)
			}
			count(found, number)
			_, err = ray.RayClusters(namespace).Update(ctx, found, metav1.UpdateOptions{})
		}
		// Somebody wrote in between: read again.
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			fail(err)
		}
		number++
	}
	fmt.Println(times)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
