package podrules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PodContext holds the settings of the pod that the rules for its containers depend on.
type PodContext struct {
	Claims map[string]bool // the volumes with a claim: only these can be block devices
	Grace  int64           // terminationGracePeriodSeconds of the pod
}

// Container returns the errors that Kubernetes would find in a container, except in its name, image and mounts. The
// rules come from validateContainerCommon and its callers. The container has no defaults yet; initial is true for
// an init container.
func Container(c *corev1.Container, initial bool, pod PodContext, path *field.Path) (errs field.ErrorList) {
	errs = append(errs, oneOf(path.Child("terminationMessagePolicy"), c.TerminationMessagePolicy, "",
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)...)
	errs = append(errs, oneOf(path.Child("imagePullPolicy"), c.ImagePullPolicy, "", corev1.PullAlways,
		corev1.PullIfNotPresent, corev1.PullNever)...)
	errs = append(errs, ports(c.Ports, path.Child("ports"))...)
	for i := range c.Env {
		errs = append(errs, variable(&c.Env[i], path.Child("env").Index(i))...)
	}
	for i := range c.EnvFrom {
		errs = append(errs, variables(&c.EnvFrom[i], path.Child("envFrom").Index(i))...)
	}
	errs = append(errs, resources(&c.Resources, path.Child("resources"))...)
	errs = append(errs, devices(c, pod.Claims, path.Child("volumeDevices"))...)
	errs = append(errs, security(c.SecurityContext, path.Child("securityContext"))...)
	return append(errs, life(c, initial, pod.Grace, path)...)
}

func ports(list []corev1.ContainerPort, path *field.Path) (errs field.ErrorList) {
	names := map[string]bool{}
	for i, p := range list {
		path := path.Index(i)
		if p.Name != "" {
			errs = append(errs, invalid(path.Child("name"), p.Name, validation.IsValidPortName(p.Name))...)
			if names[p.Name] {
				errs = append(errs, field.Duplicate(path.Child("name"), p.Name))
			}
			names[p.Name] = true
		}
		errs = append(errs, invalid(path.Child("containerPort"), p.ContainerPort,
			validation.IsValidPortNum(int(p.ContainerPort)))...)
		if p.HostPort != 0 {
			errs = append(errs, invalid(path.Child("hostPort"), p.HostPort,
				validation.IsValidPortNum(int(p.HostPort)))...)
		}
		errs = append(errs, oneOf(path.Child("protocol"), p.Protocol, "", corev1.ProtocolTCP, corev1.ProtocolUDP,
			corev1.ProtocolSCTP)...)
	}
	return errs
}

func variable(e *corev1.EnvVar, path *field.Path) (errs field.ErrorList) {
	errs = append(errs, invalid(path.Child("name"), e.Name, validation.IsEnvVarName(e.Name))...)
	from := e.ValueFrom
	if from == nil {
		return errs
	}
	path = path.Child("valueFrom")
	sources := 0
	if r := from.FieldRef; r != nil {
		sources++
		errs = append(errs, fieldRef(r, envFields, path.Child("fieldRef"))...)
	}
	if r := from.ResourceFieldRef; r != nil {
		sources++
		errs = append(errs, resourceRef(r, path.Child("resourceFieldRef"))...)
	}
	if r := from.ConfigMapKeyRef; r != nil {
		sources++
		errs = append(errs, keyRef(r.Name, r.Key, path.Child("configMapKeyRef"))...)
	}
	if r := from.SecretKeyRef; r != nil {
		sources++
		errs = append(errs, keyRef(r.Name, r.Key, path.Child("secretKeyRef"))...)
	}
	if from.FileKeyRef != nil {
		sources++
	}
	switch {
	case sources == 0:
		errs = append(errs, field.Required(path, "needs a source, such as secretKeyRef"))
	case sources > 1:
		errs = append(errs, field.Forbidden(path, "has more than one source"))
	case e.Value != "":
		errs = append(errs, field.Forbidden(path, "cannot be combined with a value"))
	}
	return errs
}

func keyRef(name, key string, path *field.Path) field.ErrorList {
	errs := invalid(path.Child("name"), name, validation.IsDNS1123Subdomain(name))
	return append(errs, invalid(path.Child("key"), key, validation.IsConfigMapKey(key))...)
}

// The fields of a pod that a fieldRef may name. Labels and annotations are named one by one.
var (
	podFields = []string{"metadata.name", "metadata.namespace", "metadata.uid"}
	envFields = append(slices.Clone(podFields), "spec.nodeName", "spec.host", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")
	// volumeFields are the fields that a file of a downward API volume may show.
	volumeFields = append(slices.Clone(podFields), "metadata.labels", "metadata.annotations")
)

func fieldRef(r *corev1.ObjectFieldSelector, fields []string, path *field.Path) field.ErrorList {
	if r.APIVersion != "" && r.APIVersion != "v1" {
		return field.ErrorList{field.NotSupported(path.Child("apiVersion"), r.APIVersion, []string{"v1"})}
	}
	path = path.Child("fieldPath")
	of, key, ok := strings.Cut(r.FieldPath, "['")
	if !ok || !strings.HasSuffix(key, "']") || of != "metadata.labels" && of != "metadata.annotations" {
		return oneOf(path, r.FieldPath, fields...)
	}
	key = strings.TrimSuffix(key, "']")
	if of == "metadata.annotations" {
		key = strings.ToLower(key)
	}
	return invalid(path, r.FieldPath, validation.IsQualifiedName(key))
}

func resourceRef(r *corev1.ResourceFieldSelector, path *field.Path) (errs field.ErrorList) {
	of, what, _ := strings.Cut(r.Resource, ".")
	known := what == "cpu" || what == "memory" || what == "ephemeral-storage" ||
		strings.HasPrefix(what, corev1.ResourceHugePagesPrefix)
	if of != "limits" && of != "requests" || !known {
		errs = append(errs, field.NotSupported(path.Child("resource"), r.Resource,
			[]string{"limits.cpu", "limits.memory", "limits.ephemeral-storage", "requests.cpu", "requests.memory",
				"requests.ephemeral-storage"}))
	}
	units := []string{"0", "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
	if what == "cpu" {
		units = []string{"0", "1", "1m"}
	}
	return append(errs, oneOf(path.Child("divisor"), r.Divisor.String(), units...)...)
}

func variables(e *corev1.EnvFromSource, path *field.Path) (errs field.ErrorList) {
	if e.Prefix != "" {
		errs = append(errs, invalid(path.Child("prefix"), e.Prefix, validation.IsEnvVarName(e.Prefix))...)
	}
	if r := e.ConfigMapRef; r != nil {
		errs = append(errs, invalid(path.Child("configMapRef", "name"), r.Name,
			validation.IsDNS1123Subdomain(r.Name))...)
	}
	if r := e.SecretRef; r != nil {
		errs = append(errs, invalid(path.Child("secretRef", "name"), r.Name, validation.IsDNS1123Subdomain(r.Name))...)
	}
	if (e.ConfigMapRef == nil) == (e.SecretRef == nil) {
		errs = append(errs, field.Invalid(path, "", "needs one of configMapRef and secretRef"))
	}
	return errs
}

func resources(r *corev1.ResourceRequirements, path *field.Path) (errs field.ErrorList) {
	common, huge := false, false // common: cpu or memory is requested; huge: huge pages are
	check := func(list corev1.ResourceList, path *field.Path) {
		for name, value := range list {
			errs = append(errs, amount(name, value, path.Key(string(name)))...)
			common = common || name == corev1.ResourceCPU || name == corev1.ResourceMemory
			huge = huge || isHugePages(name)
		}
	}
	check(r.Limits, path.Child("limits"))
	check(r.Requests, path.Child("requests"))
	for name, wanted := range r.Requests {
		path := path.Child("requests").Key(string(name))
		limit, limited := r.Limits[name]
		switch whole := isHugePages(name) || isExtended(name); {
		case whole && !limited:
			errs = append(errs, field.Forbidden(path, "needs an equal limit"))
		case whole && wanted.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(path, wanted.String(), "must be the limit of "+limit.String()))
		case limited && wanted.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(path, wanted.String(), "is more than the limit of "+limit.String()))
		}
	}
	if huge && !common {
		errs = append(errs, field.Forbidden(path, "huge pages need cpu or memory as well"))
	}
	if len(r.Claims) > 0 {
		errs = append(errs, field.Forbidden(path.Child("claims"), "the pods have no resource claims"))
	}
	return errs
}

// amount checks one limit or request of a resource.
func amount(name corev1.ResourceName, value resource.Quantity, path *field.Path) (errs field.ErrorList) {
	switch {
	case strings.Contains(string(name), "/"):
		errs = append(errs, invalid(path, name, validation.IsQualifiedName(string(name)))...)
		if !isExtended(name) && !strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix) {
			errs = append(errs, field.Invalid(path, name, "is not the name of an extended resource"))
		}
	case !isHugePages(name):
		errs = append(errs, oneOf(path, name, corev1.ResourceCPU, corev1.ResourceMemory,
			corev1.ResourceEphemeralStorage)...)
	default:
		page, err := resource.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
		if err != nil || page.Sign() <= 0 || page.MilliValue()%1000 != 0 || value.Value()%page.Value() != 0 {
			errs = append(errs, field.Invalid(path, value.String(), "is not a multiple of the size of a page"))
		}
	}
	if value.Sign() < 0 {
		errs = append(errs, field.Invalid(path, value.String(), "must not be negative"))
	}
	if isExtended(name) && value.MilliValue()%1000 != 0 {
		errs = append(errs, field.Invalid(path, value.String(), "must be an integer"))
	}
	return errs
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// isExtended reports whether a resource is an extended resource, such as nvidia.com/gpu.
func isExtended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") &&
		!strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}

func devices(c *corev1.Container, claims map[string]bool, path *field.Path) (errs field.ErrorList) {
	names, paths := map[string]bool{}, map[string]bool{}
	for _, m := range c.VolumeMounts {
		names[m.Name], paths[m.MountPath] = true, true
	}
	for i, d := range c.VolumeDevices {
		path := path.Index(i)
		switch {
		case !claims[d.Name]:
			errs = append(errs, field.Invalid(path.Child("name"), d.Name, "is not a volume claim of the pod"))
		case d.DevicePath == "" || backsteps("", d.DevicePath) != "":
			errs = append(errs, field.Invalid(path.Child("devicePath"), d.DevicePath, "must be a path without .."))
		case names[d.Name]:
			errs = append(errs, field.Invalid(path.Child("name"), d.Name, "is already mounted or a device"))
		case paths[d.DevicePath]:
			errs = append(errs, field.Duplicate(path.Child("devicePath"), d.DevicePath))
		}
		names[d.Name], paths[d.DevicePath] = true, true
	}
	return errs
}

func security(s *corev1.SecurityContext, path *field.Path) (errs field.ErrorList) {
	if s == nil {
		return nil
	}
	errs = append(errs, ifSet(path.Child("runAsUser"), s.RunAsUser, validation.IsValidUserID)...)
	errs = append(errs, ifSet(path.Child("runAsGroup"), s.RunAsGroup, validation.IsValidGroupID)...)
	// other values are valid only with hostUsers: false
	errs = append(errs, oneOfIfSet(path.Child("procMount"), s.ProcMount, corev1.DefaultProcMount)...)
	errs = append(errs, seccomp(s.SeccompProfile, path.Child("seccompProfile"))...)
	errs = append(errs, appArmor(s.AppArmorProfile, path.Child("appArmorProfile"))...)
	if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation {
		return errs
	}
	path = path.Child("allowPrivilegeEscalation")
	if s.Privileged != nil && *s.Privileged {
		errs = append(errs, field.Invalid(path, false, "a privileged container can escalate"))
	}
	if s.Capabilities != nil && slices.Contains(s.Capabilities.Add, "CAP_SYS_ADMIN") {
		errs = append(errs, field.Invalid(path, false, "a container with CAP_SYS_ADMIN can escalate"))
	}
	return errs
}

// life checks the lifecycle, the probes and the restart policy of a container.
func life(c *corev1.Container, initial bool, grace int64, path *field.Path) (errs field.ErrorList) {
	errs = append(errs, oneOfIfSet(path.Child("restartPolicy"), c.RestartPolicy, corev1.ContainerRestartPolicyAlways,
		corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)...)
	if len(c.RestartPolicyRules) > 0 && c.RestartPolicy == nil {
		errs = append(errs, field.Required(path.Child("restartPolicy"), "restartPolicyRules need it"))
	}
	ends := initial && (c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways)
	seen := map[corev1.ResourceName]bool{}
	for i, p := range c.ResizePolicy {
		path := path.Child("resizePolicy").Index(i)
		errs = append(errs, oneOf(path.Child("resourceName"), p.ResourceName, corev1.ResourceCPU,
			corev1.ResourceMemory)...)
		errs = append(errs, oneOf(path.Child("restartPolicy"), p.RestartPolicy, corev1.NotRequired,
			corev1.RestartContainer)...)
		if seen[p.ResourceName] {
			errs = append(errs, field.Duplicate(path, p.ResourceName))
		}
		if ends && p.RestartPolicy == corev1.RestartContainer {
			errs = append(errs, field.Forbidden(path.Child("restartPolicy"), "an init container is not restarted"))
		}
		seen[p.ResourceName] = true
	}
	for name, p := range map[string]*corev1.Probe{"livenessProbe": c.LivenessProbe, "readinessProbe": c.ReadinessProbe,
		"startupProbe": c.StartupProbe} {
		if p == nil {
			continue
		}
		if ends {
			errs = append(errs, field.Forbidden(path.Child(name),
				"needs restartPolicy: Always in an init container"))
		}
		errs = append(errs, probe(p, name == "readinessProbe", grace, path.Child(name))...)
	}
	if c.Lifecycle == nil {
		return errs
	}
	path = path.Child("lifecycle")
	if ends {
		errs = append(errs, field.Forbidden(path, "needs restartPolicy: Always in an init container"))
	}
	if c.Lifecycle.StopSignal != nil {
		errs = append(errs, field.Forbidden(path.Child("stopSignal"), "needs spec.os.name, which no pod has"))
	}
	for name, h := range map[string]*corev1.LifecycleHandler{"postStart": c.Lifecycle.PostStart,
		"preStop": c.Lifecycle.PreStop} {
		if h != nil {
			errs = append(errs, handler(action{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep}, grace,
				path.Child(name))...)
		}
	}
	return errs
}

func probe(p *corev1.Probe, readiness bool, grace int64, path *field.Path) (errs field.ErrorList) {
	errs = append(errs, handler(action{p.Exec, p.HTTPGet, p.TCPSocket, p.GRPC, nil}, grace, path)...)
	for name, value := range map[string]int32{
		"initialDelaySeconds": p.InitialDelaySeconds, "timeoutSeconds": p.TimeoutSeconds,
		"periodSeconds":    p.PeriodSeconds,
		"successThreshold": p.SuccessThreshold, "failureThreshold": p.FailureThreshold,
	} {
		if value < 0 {
			errs = append(errs, field.Invalid(path.Child(name), value, "must not be negative"))
		}
	}
	if !readiness && p.SuccessThreshold > 1 {
		errs = append(errs, field.Invalid(path.Child("successThreshold"), p.SuccessThreshold, "must be 1"))
	}
	if s := p.TerminationGracePeriodSeconds; s != nil && (readiness || *s <= 0) {
		errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), *s,
			"must be greater than zero, and must not be set in a readinessProbe"))
	}
	return errs
}

// action is the action of a probe or lifecycle hook.
type action struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func handler(a action, grace int64, path *field.Path) (errs field.ErrorList) {
	kinds := 0
	if a.exec != nil {
		kinds++
		if len(a.exec.Command) == 0 {
			errs = append(errs, field.Required(path.Child("exec", "command"), ""))
		}
	}
	if h := a.http; h != nil {
		kinds++
		path := path.Child("httpGet")
		errs = append(errs, port(h.Port, path.Child("port"))...)
		errs = append(errs, oneOf(path.Child("scheme"), h.Scheme, "", corev1.URISchemeHTTP, corev1.URISchemeHTTPS)...)
		for i, header := range h.HTTPHeaders {
			errs = append(errs, invalid(path.Child("httpHeaders").Index(i).Child("name"), header.Name,
				validation.IsHTTPHeaderName(header.Name))...)
		}
	}
	if a.tcp != nil {
		kinds++
		errs = append(errs, port(a.tcp.Port, path.Child("tcpSocket", "port"))...)
	}
	if a.grpc != nil {
		kinds++
		errs = append(errs, port(intstr.FromInt32(a.grpc.Port), path.Child("grpc", "port"))...)
	}
	if a.sleep != nil {
		kinds++
		errs = append(errs, inRange(path.Child("sleep", "seconds"), a.sleep.Seconds, 0, grace)...)
	}
	if kinds != 1 {
		errs = append(errs, field.Invalid(path, fmt.Sprintf("%d handlers", kinds), "needs one, such as httpGet"))
	}
	return errs
}

func port(p intstr.IntOrString, path *field.Path) field.ErrorList {
	if p.Type == intstr.String {
		return invalid(path, p.StrVal, validation.IsValidPortName(p.StrVal))
	}
	return invalid(path, p.IntVal, validation.IsValidPortNum(p.IntValue()))
}
