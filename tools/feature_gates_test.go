// Prints every feature gate that kube-scheduler knows, for tools/record_feature_gates.py.
package controlplane

import (
	"encoding/json"
	"os"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	_ "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

type spec struct {
	Version, MinCompatibility, Stage string
	Default, Locked                  bool
}

func TestMain(*testing.M) {
	gates := map[string][]spec{}
	for name, specs := range utilfeature.DefaultMutableFeatureGate.GetAllVersioned() {
		for _, each := range specs {
			one := spec{Version: each.Version.String(), Stage: string(each.PreRelease), Default: each.Default, Locked: each.LockToDefault}
			if each.MinCompatibilityVersion != nil {
				one.MinCompatibility = each.MinCompatibilityVersion.String()
			}
			gates[string(name)] = append(gates[string(name)], one)
		}
	}
	needs := utilfeature.DefaultMutableFeatureGate.Dependencies()
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"gates": gates, "needs": needs}); err != nil {
		panic(err)
	}
}
