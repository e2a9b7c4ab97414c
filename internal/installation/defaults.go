package installation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// restartedAt is the annotation that "kubectl rollout restart" writes. Applying an object keeps it, because it has
// another owner.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// set sets a default.
func set[T comparable](field *T, value T) {
	var none T
	if *field == none {
		*field = value
	}
}

// point sets a default of an optional field.
func point[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// setPodDefaults sets the API server's defaults in a pod template (pkg/apis/core/v1/defaults.go of Kubernetes), so
// that a stored template can be compared with one that was never stored.
func setPodDefaults(t *corev1.PodTemplateSpec) {
	delete(t.Annotations, restartedAt)
	if len(t.Annotations) == 0 {
		t.Annotations = nil
	}
	pod := &t.Spec
	set(&pod.RestartPolicy, corev1.RestartPolicyAlways)
	set(&pod.DNSPolicy, corev1.DNSClusterFirst)
	set(&pod.SchedulerName, corev1.DefaultSchedulerName)
	point(&pod.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	point(&pod.SecurityContext, corev1.PodSecurityContext{})
	pod.DeprecatedServiceAccount = pod.ServiceAccountName
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			setContainerDefaults(&list[i], pod.HostNetwork)
		}
	}
	for i := range pod.Volumes {
		setVolumeDefaults(&pod.Volumes[i].VolumeSource)
	}
}

func setContainerDefaults(c *corev1.Container, hostNetwork bool) {
	set(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	set(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	pull := corev1.PullIfNotPresent
	if name := c.Image[strings.LastIndex(c.Image, "/")+1:]; !strings.Contains(name, "@") &&
		(!strings.Contains(name, ":") || strings.HasSuffix(name, ":latest")) {
		pull = corev1.PullAlways
	}
	set(&c.ImagePullPolicy, pull)
	for i := range c.Ports {
		set(&c.Ports[i].Protocol, corev1.ProtocolTCP)
		if hostNetwork {
			set(&c.Ports[i].HostPort, c.Ports[i].ContainerPort)
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			set(&from.FieldRef.APIVersion, "v1")
		}
	}
	for name, limit := range c.Resources.Limits {
		if _, found := c.Resources.Requests[name]; !found {
			if c.Resources.Requests == nil {
				c.Resources.Requests = corev1.ResourceList{}
			}
			c.Resources.Requests[name] = limit
		}
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		setProbeDefaults(probe)
	}
	if c.Lifecycle != nil {
		for _, handler := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if handler != nil {
				setHTTPDefaults(handler.HTTPGet)
			}
		}
	}
}

func setProbeDefaults(p *corev1.Probe) {
	if p == nil {
		return
	}
	set(&p.TimeoutSeconds, 1)
	set(&p.PeriodSeconds, 10)
	set(&p.SuccessThreshold, 1)
	set(&p.FailureThreshold, 3)
	setHTTPDefaults(p.HTTPGet)
	if p.GRPC != nil {
		point(&p.GRPC.Service, "")
	}
}

func setHTTPDefaults(get *corev1.HTTPGetAction) {
	if get == nil {
		return
	}
	set(&get.Path, "/")
	set(&get.Scheme, corev1.URISchemeHTTP)
}

func setVolumeDefaults(v *corev1.VolumeSource) {
	const mode = 0o644
	if *v == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	switch {
	case v.Secret != nil:
		point(&v.Secret.DefaultMode, mode)
	case v.ConfigMap != nil:
		point(&v.ConfigMap.DefaultMode, mode)
	case v.AzureDisk != nil:
		point(&v.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		point(&v.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
		point(&v.AzureDisk.FSType, "ext4")
		point(&v.AzureDisk.ReadOnly, false)
	case v.ISCSI != nil:
		set(&v.ISCSI.ISCSIInterface, "default")
	case v.HostPath != nil:
		point(&v.HostPath.Type, corev1.HostPathUnset)
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		setClaimDefaults(&v.Ephemeral.VolumeClaimTemplate.Spec)
	case v.DownwardAPI != nil:
		point(&v.DownwardAPI.DefaultMode, mode)
		setFieldDefaults(v.DownwardAPI.Items)
	case v.Projected != nil:
		point(&v.Projected.DefaultMode, mode)
		for i := range v.Projected.Sources {
			source := &v.Projected.Sources[i]
			if source.ServiceAccountToken != nil {
				point(&source.ServiceAccountToken.ExpirationSeconds, 3600)
			}
			if source.DownwardAPI != nil {
				setFieldDefaults(source.DownwardAPI.Items)
			}
		}
	}
}

func setFieldDefaults(items []corev1.DownwardAPIVolumeFile) {
	for _, item := range items {
		if item.FieldRef != nil {
			set(&item.FieldRef.APIVersion, "v1")
		}
	}
}

func setClaimDefaults(c *corev1.PersistentVolumeClaimSpec) {
	point(&c.VolumeMode, corev1.PersistentVolumeFilesystem)
}
