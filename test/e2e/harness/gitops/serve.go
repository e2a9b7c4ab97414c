// Package gitops has what suites share that follow a commit through Git into a cluster: a Git
// server with webhooks, a user who has a clone, a page of the documentation whose manifests and
// commands are used, and somebody who calls pods ready.
package gitops

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Serve answers HTTP at an address until the test ends.
func Serve(t *testing.T, address string, handler http.Handler) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // Until it is closed.
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
}

// ReadyPods calls all pods ready, as a kubelet would sooner or later, until the test ends.
func ReadyPods(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	Meanwhile(t, "the stand-in for kubelets", func(ctx context.Context) error { return readyPods(ctx, client) })
}

func readyPods(ctx context.Context, client kubernetes.Interface) error {
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Pending"})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		_, updated := client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, &p, metav1.UpdateOptions{})
		if !apierrors.IsConflict(updated) && !apierrors.IsNotFound(updated) { // Seen again soon.
			err = errors.Join(err, updated)
		}
	}
	return err
}

// Meanwhile does something again and again until the test ends.
func Meanwhile(t *testing.T, who string, do func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				t.Logf("%s: %v", who, err)
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}
