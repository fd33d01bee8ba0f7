package nvidia_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/tests/regress"
)

// nvidiaFaults are kernels of which NVIDIA's PTX is wrong, each with the proof.
var nvidiaFaults = map[string]string{
	"copied_then_overwritten_in_loop": "no cp.async.wait_group, and no mbarrier, stands between the copies of the right operand and the ldmatrix that read it",
}

// TestNvidiaGivesWhatRegressionsExpect holds the expectations of tests/regress against NVIDIA's PTX of the same texts: they are what
// its compiler makes too, not what ours came to make.
func TestNvidiaGivesWhatRegressionsExpect(t *testing.T) {
	tool(t, "tileiras")
	files, err := regress.Files("../regress")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"sm_80", "sm_89"} {
		refused, agree := 0, 0
		for _, file := range files {
			test, err := regress.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			text, err := nvidiaPTXOfText(t, test, target)
			if errors.Is(err, errRefused) {
				t.Logf("%s, %s: %v", test.Name, target, err)
				refused++
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			mod, err := emu.Parse(test.Name+".ptx", text)
			if err != nil {
				t.Fatal(err)
			}
			good, fault := true, nvidiaFaults[test.Name]
			for _, schedule := range emu.Schedules {
				if v := cases.Run(t.Context(), &emulator{mod: mod, schedule: schedule}, test.Case); v.Status != cases.Pass {
					if good = false; fault != "" {
						continue
					}
					t.Errorf("%s, %s, %v schedule: %s", test.Name, target, schedule, v)
				}
			}
			if good && fault != "" {
				t.Errorf("%s, %s: NVIDIA's fault is gone: %s", test.Name, target, fault)
			}
			if good {
				agree++
			}
		}
		t.Logf("%s: of %d kernels %d agree, %d are refused by NVIDIA's tileiras", target, len(files), agree, refused)
		if agree == 0 {
			t.Errorf("%s: no kernel agrees", target)
		}
	}
}

// nvidiaPTXOfText writes a text as bytecode and compiles that with NVIDIA's tileiras.
func nvidiaPTXOfText(t *testing.T, test *regress.Test, target string) (string, error) {
	res, err := driver.Compile(t.Context(), test.Name, test.Bytecode, driver.Options{Emit: driver.EmitBytecode})
	if err != nil {
		return "", err
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kernel.tileirbc"), res.Output, 0o644); err != nil {
		return "", err
	}
	return nvidiaPTX(t, &cases.Case{Name: fmt.Sprintf("regress-%s-%x", test.Name, sha256.Sum256(res.Output)), Dir: dir}, target)
}
