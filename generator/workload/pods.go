package workload

import (
	"math"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/podspec"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// pods describes the pods of one workload.
type pods struct {
	kind     secretref.Group
	name     string // the name of the workload
	label    string // the value of its workload label
	selector map[string]string
	config   config
	mounted  mounted // volumes and mounts of these pods only
	shard    int
	shards   int
	cluster  string // Service by which they find each other, or ""
	zone     string // zone of the shard, or ""
	inZone   int    // number of the shard within its zone
}

// metricsPods describes the pods of all shards; the caller sets the shard. Pods that share their targets are in one
// StatefulSet.
func (a grafanaAgent) metricsPods(c config) pods {
	p := pods{kind: secretref.Metrics, label: "metrics", config: c, shards: compile.Shards(a.spec)}
	if a.runtime().Clusters {
		p.shards, p.cluster = 1, clusterName(a.Name)
	}
	return p
}

// logsPods describes the pods that read the logs of their node. As with the operator, they store their positions on
// the node in a folder that all agents share (reference defect D9).
func (a grafanaAgent) logsPods(c config) pods {
	p := pods{kind: secretref.Logs, name: a.Name + "-logs", label: "logs", selector: a.selector("logs", ""), config: c}
	for _, v := range podspec.HostLogs() {
		p.mounted.add(v, corev1.VolumeMount{Name: v.Name, ReadOnly: true, MountPath: v.HostPath.Path})
	}
	positions := corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: podspec.DataDir}}
	p.mounted.add(corev1.Volume{Name: "data", VolumeSource: positions},
		corev1.VolumeMount{Name: "data", MountPath: podspec.DataDir})
	return p
}

// integrationsPods describes the pods of integrations. They also have the volumes of metrics and logs pods, because
// their agent runs the MetricsInstances and LogsInstances that integrations send to. Package compile has reported
// problems of the integrations' volumes.
func (a grafanaAgent) integrationsPods(kind secretref.Group, label string, in *compile.Integrations, c config) pods {
	extras := podspec.Integrations(a.Object, kind, in.Objects, a.secrets)
	return pods{
		kind: kind, name: podspec.Name(a.Name, kind), label: label, selector: a.integrationsSelector(), config: c,
		mounted: mounted{extras.Volumes, extras.Mounts}, shards: compile.Shards(a.spec),
	}
}

// statefulSet returns the StatefulSet of a shard.
func (a grafanaAgent) statefulSet(p pods) (*appsv1.StatefulSet, diag.List) {
	p.name = a.Name
	if p.shard > 0 {
		p.name += "-shard-" + strconv.Itoa(p.shard)
	}
	p.selector = a.selector("metrics", strconv.Itoa(p.shard))
	claims := a.addStorage(&p.mounted, p.name)
	template, findings := a.template(p)
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: a.workloadMeta(p.name, p.label, template.Labels),
		Spec: appsv1.StatefulSetSpec{
			Replicas:             replicas(a.spec, a.runtime().Clusters),
			ServiceName:          a.Name + "-operated",
			PodManagementPolicy:  appsv1.ParallelPodManagement,
			UpdateStrategy:       appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
			Selector:             &metav1.LabelSelector{MatchLabels: p.selector},
			Template:             template,
			VolumeClaimTemplates: claims,
		},
	}, findings
}

// replicas returns the number of pods of a StatefulSet: 1 if it is not set, 0 if it is negative. With clustering, the
// only StatefulSet has the pods of all shards.
func replicas(spec *v1alpha1.GrafanaAgentSpec, clusters bool) *int32 {
	n := int64(1)
	if set := spec.Metrics.Replicas; set != nil {
		n = int64(max(*set, 0))
	}
	if clusters {
		n *= int64(compile.Shards(spec))
	}
	return new(int32(min(n, math.MaxInt32)))
}

func (a grafanaAgent) daemonSet(p pods) (*appsv1.DaemonSet, diag.List) {
	template, findings := a.template(p)
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: a.workloadMeta(p.name, p.label, template.Labels),
		Spec: appsv1.DaemonSetSpec{
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType},
			Selector:       &metav1.LabelSelector{MatchLabels: p.selector},
			Template:       template,
		},
	}, findings
}

func (a grafanaAgent) deployment(p pods) (*appsv1.Deployment, diag.List) {
	template, findings := a.template(p)
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: a.workloadMeta(p.name, p.label, template.Labels),
		Spec: appsv1.DeploymentSpec{
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: p.selector},
			Template: template,
		},
	}, findings
}

// template returns the pod template with the runtime's containers. The findings are about spec.containers.
func (a grafanaAgent) template(p pods) (corev1.PodTemplateSpec, diag.List) {
	in := a.volumes(p)
	generated := a.runtime().Containers(runtimes.Pod{
		Namespace: a.Namespace, Agent: a.Name, Spec: a.spec, Kind: p.kind, Shard: p.shard, Shards: p.shards,
		Zone: p.zone, ShardInZone: p.inZone,
		Cluster: p.cluster, Config: p.config.of,
		IsFolder: len(p.config.others) > 0, PortName: a.portName(), SecretEnv: a.secrets.Env(p.kind), Mounts: in.mounts,
	})
	containers, findings := mergeContainers(generated, a.spec.Containers)
	for i := range generated {
		path := containerPath(a.spec, "spec.containers", generated[i].Name, true)
		findings = append(findings, a.missingArguments(path, &generated[i], &containers[i])...)
	}
	grace, s := a.runtime().GraceSeconds, a.spec
	nodes := s.NodeSelector
	if p.zone != "" {
		nodes = with(nodes, map[string]string{corev1.LabelTopologyZone: p.zone})
	}
	security := s.SecurityContext
	if of := a.runtime().PodSecurity; of != nil {
		security = of(p.kind, security)
	}
	return corev1.PodTemplateSpec{ObjectMeta: a.podMeta(p.selector, p.config), Spec: corev1.PodSpec{
		Containers:                    containers,
		InitContainers:                s.InitContainers,
		Volumes:                       in.volumes,
		TerminationGracePeriodSeconds: &grace,
		ImagePullSecrets:              s.ImagePullSecrets,
		NodeSelector:                  nodes,
		ServiceAccountName:            s.ServiceAccountName,
		Affinity:                      s.Affinity,
		Tolerations:                   s.Tolerations,
		TopologySpreadConstraints:     s.TopologySpreadConstraints,
		SecurityContext:               security,
		PriorityClassName:             s.PriorityClassName,
		RuntimeClassName:              s.RuntimeClassName,
	}}, findings
}
