package podrules

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// Pod returns the errors that Kubernetes would find in a pod's names, scheduling and security context. Volumes and
// containers have functions of their own. The rules come from ValidatePodSpec, for the fields that a GrafanaAgent has.
// Errors have paths below path.
func Pod(pod *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	for name, value := range map[string]string{"serviceAccountName": pod.ServiceAccountName,
		"priorityClassName": pod.PriorityClassName} {
		if value != "" {
			errs = append(errs, invalid(path.Child(name), value, validation.IsDNS1123Subdomain(value))...)
		}
	}
	if name := pod.RuntimeClassName; name != nil {
		errs = append(errs, invalid(path.Child("runtimeClassName"), *name, validation.IsDNS1123Subdomain(*name))...)
	}
	errs = append(errs, metavalidation.ValidateLabels(pod.NodeSelector, path.Child("nodeSelector"))...)
	errs = append(errs, affinity(pod.Affinity, path.Child("affinity"))...)
	for i := range pod.Tolerations {
		errs = append(errs, toleration(&pod.Tolerations[i], path.Child("tolerations").Index(i))...)
	}
	errs = append(errs, pullSecrets(pod.ImagePullSecrets, path.Child("imagePullSecrets"))...)
	errs = append(errs, topologySpread(pod.TopologySpreadConstraints, path.Child("topologySpreadConstraints"))...)
	return append(errs, podSecurity(pod.SecurityContext, path.Child("securityContext"))...)
}

// invalid turns the messages of an apimachinery check into errors.
func invalid(path *field.Path, value any, messages []string) (errs field.ErrorList) {
	for _, m := range messages {
		errs = append(errs, field.Invalid(path, value, m))
	}
	return errs
}

// oneOf checks that a value is one of the valid ones.
func oneOf[T ~string](path *field.Path, value T, valid ...T) field.ErrorList {
	if slices.Contains(valid, value) {
		return nil
	}
	// an empty value stands for an absent field
	named := slices.DeleteFunc(slices.Clone(valid), func(v T) bool { return v == "" })
	return field.ErrorList{field.NotSupported(path, value, named)}
}

// oneOfIfSet is [oneOf] for an optional field.
func oneOfIfSet[T ~string](path *field.Path, value *T, valid ...T) field.ErrorList {
	if value == nil {
		return nil
	}
	return oneOf(path, *value, valid...)
}

func inRange(path *field.Path, value, low, high int64) field.ErrorList {
	if value < low || value > high {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be between %d and %d", low, high))}
	}
	return nil
}

// ifSet checks an optional number.
func ifSet(path *field.Path, value *int64, check func(int64) []string) field.ErrorList {
	if value == nil {
		return nil
	}
	return invalid(path, *value, check(*value))
}

func toleration(t *corev1.Toleration, path *field.Path) (errs field.ErrorList) {
	if t.Key != "" {
		errs = append(errs, metavalidation.ValidateLabelName(t.Key, path.Child("key"))...)
	} else if t.Operator != corev1.TolerationOpExists {
		errs = append(errs, field.Invalid(path.Child("operator"), t.Operator, "must be Exists when there is no key"))
	}
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		errs = append(errs, invalid(path.Child("value"), t.Value, validation.IsValidLabelValue(t.Value))...)
	case corev1.TolerationOpExists:
		if t.Value != "" {
			errs = append(errs, field.Invalid(path.Child("value"), t.Value,
				"must be empty when the operator is Exists"))
		}
	default: // Lt and Gt need a feature gate in the cluster.
		errs = append(errs, field.NotSupported(path.Child("operator"), t.Operator,
			[]corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		errs = append(errs, field.Invalid(path.Child("effect"), t.Effect,
			"must be NoExecute when there are tolerationSeconds"))
	}
	return append(errs, oneOf(path.Child("effect"), t.Effect, "", corev1.TaintEffectNoSchedule,
		corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
}

// pullSecrets checks for repeated names: only server-side apply refuses them, and Flux and Argo CD can use it.
func pullSecrets(list []corev1.LocalObjectReference, path *field.Path) (errs field.ErrorList) {
	seen := map[string]bool{}
	for i, s := range list {
		if seen[s.Name] {
			errs = append(errs, field.Duplicate(path.Index(i), s.Name))
		}
		seen[s.Name] = true
	}
	return errs
}

func topologySpread(list []corev1.TopologySpreadConstraint, path *field.Path) (errs field.ErrorList) {
	type kind struct {
		key  string
		when corev1.UnsatisfiableConstraintAction
	}
	seen := map[kind]bool{}
	for i := range list {
		c, path := &list[i], path.Index(i)
		if c.MaxSkew <= 0 {
			errs = append(errs, field.Invalid(path.Child("maxSkew"), c.MaxSkew, "must be greater than zero"))
		}
		if c.TopologyKey == "" {
			errs = append(errs, field.Required(path.Child("topologyKey"), ""))
		}
		errs = append(errs, oneOf(path.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, corev1.DoNotSchedule,
			corev1.ScheduleAnyway)...)
		k := kind{c.TopologyKey, c.WhenUnsatisfiable}
		if seen[k] {
			errs = append(errs, field.Duplicate(path,
				fmt.Sprintf("topologyKey %s, whenUnsatisfiable %s", k.key, k.when)))
		}
		seen[k] = true
		if d := c.MinDomains; d != nil && (*d <= 0 || c.WhenUnsatisfiable != corev1.DoNotSchedule) {
			errs = append(errs, field.Invalid(path.Child("minDomains"), *d,
				"must be greater than zero, and needs whenUnsatisfiable: DoNotSchedule"))
		}
		errs = append(errs, oneOfIfSet(path.Child("nodeAffinityPolicy"), c.NodeAffinityPolicy,
			corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)...)
		errs = append(errs, oneOfIfSet(path.Child("nodeTaintsPolicy"), c.NodeTaintsPolicy,
			corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)...)
		errs = append(errs, labelKeys(c.MatchLabelKeys, nil, c.LabelSelector, path)...)
		errs = append(errs, metavalidation.ValidateLabelSelector(c.LabelSelector,
			metavalidation.LabelSelectorValidationOptions{}, path.Child("labelSelector"))...)
	}
	return errs
}

// sysctlName is the API server's rule for names of kernel parameters (sysctls).
var sysctlName = lazyregexp.New(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

const maxSysctlName = 253

func podSecurity(s *corev1.PodSecurityContext, path *field.Path) (errs field.ErrorList) {
	if s == nil {
		return nil
	}
	errs = append(errs, ifSet(path.Child("fsGroup"), s.FSGroup, validation.IsValidGroupID)...)
	errs = append(errs, ifSet(path.Child("runAsUser"), s.RunAsUser, validation.IsValidUserID)...)
	errs = append(errs, ifSet(path.Child("runAsGroup"), s.RunAsGroup, validation.IsValidGroupID)...)
	for i, id := range s.SupplementalGroups {
		errs = append(errs, invalid(path.Child("supplementalGroups").Index(i), id, validation.IsValidGroupID(id))...)
	}
	seen := map[string]bool{}
	for i, p := range s.Sysctls {
		path := path.Child("sysctls").Index(i).Child("name")
		switch {
		case len(p.Name) > maxSysctlName || !sysctlName.MatchString(p.Name):
			errs = append(errs, field.Invalid(path, p.Name, "is not the name of a kernel parameter"))
		case seen[p.Name]:
			errs = append(errs, field.Duplicate(path, p.Name))
		}
		seen[p.Name] = true
	}
	errs = append(errs, oneOfIfSet(path.Child("fsGroupChangePolicy"), s.FSGroupChangePolicy, corev1.FSGroupChangeAlways,
		corev1.FSGroupChangeOnRootMismatch)...)
	errs = append(errs, oneOfIfSet(path.Child("supplementalGroupsPolicy"), s.SupplementalGroupsPolicy,
		corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)...)
	errs = append(errs, oneOfIfSet(path.Child("seLinuxChangePolicy"), s.SELinuxChangePolicy,
		corev1.SELinuxChangePolicyRecursive, corev1.SELinuxChangePolicyMountOption)...)
	errs = append(errs, seccomp(s.SeccompProfile, path.Child("seccompProfile"))...)
	return append(errs, appArmor(s.AppArmorProfile, path.Child("appArmorProfile"))...)
}

func seccomp(p *corev1.SeccompProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := oneOf(path.Child("type"), p.Type, corev1.SeccompProfileTypeLocalhost,
		corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	errs = append(errs, localhost(p.LocalhostProfile, p.Type == corev1.SeccompProfileTypeLocalhost, path)...)
	if p.LocalhostProfile != nil {
		if problem := localPath("the path", *p.LocalhostProfile); problem != "" {
			errs = append(errs, field.Invalid(path.Child("localhostProfile"), *p.LocalhostProfile, problem))
		}
	}
	return errs
}

func appArmor(p *corev1.AppArmorProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := oneOf(path.Child("type"), p.Type, corev1.AppArmorProfileTypeLocalhost,
		corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
	return append(errs, localhost(p.LocalhostProfile, p.Type == corev1.AppArmorProfileTypeLocalhost, path)...)
}

// localhost checks that localhostProfile is set if and only if the type is Localhost (wanted).
func localhost(profile *string, wanted bool, path *field.Path) field.ErrorList {
	path = path.Child("localhostProfile")
	switch {
	case wanted && (profile == nil || *profile == ""):
		return field.ErrorList{field.Required(path, "the type Localhost needs it")}
	case !wanted && profile != nil:
		return field.ErrorList{field.Forbidden(path, "only the type Localhost has it")}
	}
	return nil
}
