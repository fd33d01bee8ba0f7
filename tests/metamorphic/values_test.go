package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tileiras/codegen/options"
	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/tests/regress"
)

// modules is how many kernels a run of all tests rewrites, for the first two configurations. TILEIRAS_METAMORPHIC=N rewrites N, each for three that are
// drawn, beginning with seed TILEIRAS_METAMORPHIC_FROM.
const modules = 185

// patience is how long one run may take.
const patience = time.Minute

// configuration is a way to compile.
type configuration struct {
	gpu  string
	code options.Code
}

func (c configuration) String() string {
	return fmt.Sprintf("%s -O%d --tma=%t --roles=%t", c.gpu, c.code.Opt, c.code.TMA, c.code.Roles == options.On)
}

var configurations = []configuration{
	{"sm_80", options.Code{Opt: 3}},
	{"sm_100", options.Code{Opt: 3}},
	{"sm_75", options.Code{Opt: 3}},
	{"sm_90", options.Code{Opt: 3}},
	{"sm_120", options.Code{Opt: 3}},
	{"sm_90", options.Code{Opt: 3, TMA: true}},
	{"sm_100", options.Code{Opt: 3, TMA: true}},
	{"sm_120", options.Code{Opt: 3, TMA: true}},
	{"sm_90", options.Code{Opt: 3, TMA: true, Roles: options.On}},
	{"sm_100", options.Code{Opt: 3, Roles: options.On}},
	{"sm_80", options.Code{}},
	{"sm_100", options.Code{Roles: options.On}},
}

// wraps are kernels whose loops end at the largest number of their type, so that a counter which is one step ahead is not beyond it.
var wraps = []string{"beyond_the_largest", "loop_over_one_bit", "unsigned_loop_from"}

// subject is a kernel with expected results.
type subject struct {
	*cases.Case
	targets []string // nil: all
}

func subjects(t *testing.T) (list []*subject) {
	const corpus = "../corpus/cases"
	names, err := cases.List(corpus)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		c, err := cases.Load(filepath.Join(corpus, name))
		if err != nil {
			t.Fatal(err)
		}
		if !c.DecodeOnly && c.ExpectError == "" && c.ExpectAssert == "" {
			c.ResolveGrid(3)
			list = append(list, &subject{Case: c})
		}
	}
	files, err := regress.Files("../regress")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		r, err := regress.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(wraps, func(w string) bool { return strings.Contains(r.Name, w) }) {
			list = append(list, &subject{r.Case, r.Targets})
		}
	}
	return list
}

func TestRewrittenKernelsLeaveWhatIsExpected(t *testing.T) {
	n, each, from := modules, 2, number(t, "TILEIRAS_METAMORPHIC_FROM", 0)
	how := configurations[:2]
	if many := number(t, "TILEIRAS_METAMORPHIC", 0); many > 0 {
		n, each, how = many, 3, configurations
	}
	all := subjects(t)
	var mu sync.Mutex
	applied, refused := map[string]int{}, 0
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for seed := uint64(from); seed < uint64(from+n); seed++ {
		g.Go(func() error {
			k, steps := draw(all, seed), Draw(seed)
			r := rand.New(rand.NewPCG(seed, 2))
			for _, i := range r.Perm(len(how))[:each] {
				k.how = append(k.how, how[i])
			}
			done, err := k.judge(t.Context(), steps)
			mu.Lock()
			defer mu.Unlock()
			for _, d := range done {
				applied[d.Name]++
			}
			if errors.Is(err, errors.ErrUnsupported) {
				refused++
			} else if err != nil {
				k.report(t, done, err)
			}
			return nil
		})
	}
	g.Wait()
	for _, w := range Rewritings {
		t.Logf("%4d %s: %s", applied[w.Name], w.Name, w.Does)
		if applied[w.Name] == 0 {
			t.Errorf("%s is never applied: it tests nothing", w.Name)
		}
	}
	if t.Logf("%d kernels rewritten from seed %d, %d refused", n, from, refused); refused > n/20 {
		t.Errorf("%d of %d rewritten kernels are refused: they test nothing", refused, n)
	}
}

// number is the value of an environment variable, or another number without it.
func number(t *testing.T, variable string, otherwise int) int {
	s := os.Getenv(variable)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// check is one kernel with how it is run.
type check struct {
	*subject
	seed     uint64
	how      []configuration
	schedule emu.Schedule
}

// draw chooses a kernel to which the first rewriting of a seed applies, if one is found soon.
func draw(all []*subject, seed uint64) *check {
	r := rand.New(rand.NewPCG(seed, 1))
	k := &check{seed: seed, schedule: emu.Schedules[r.IntN(len(emu.Schedules))]}
	for range 30 {
		k.subject = all[r.IntN(len(all))]
		if _, done, err := Rewrite(k.Case, Draw(seed)[:1]); err != nil || len(done) > 0 {
			break
		}
	}
	return k
}

// judge rewrites the kernel and runs it on the interpreter and on the emulator. It gives the steps that applied. What fails without them as well is no
// failure, and what is too big for a compiler that keeps whole tiles is errors.ErrUnsupported.
func (k *check) judge(ctx context.Context, steps []Step) (done []Step, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	c, done, err := Rewrite(k.Case, steps)
	if err != nil || len(done) == 0 {
		return done, err
	}
	if err := run(ctx, c, &tilerun.Interpreter{}); err != nil && run(ctx, k.Case, &tilerun.Interpreter{}) == nil {
		return done, fmt.Errorf("interpreter: %w", err)
	}
	for _, on := range k.how {
		if k.targets != nil && !slices.Contains(k.targets, on.gpu) {
			continue
		}
		if err := k.emulate(ctx, c, on); err != nil && k.emulate(ctx, k.Case, on) == nil {
			return done, fmt.Errorf("%s, %s: %w", on, k.schedule, err)
		}
	}
	return done, nil
}

func (k *check) emulate(ctx context.Context, c *cases.Case, on configuration) error {
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	o := driver.Options{GPU: on.gpu, Code: on.code, Emit: driver.EmitPTX, VerifyEach: true, ReproducerDir: os.DevNull}
	res, err := driver.Compile(ctx, c.File, c.Bytecode, o)
	if err != nil {
		var f *driver.Failure
		if errors.As(err, &f) && f.Code != driver.ExitBug && (strings.Contains(err.Error(), "too big") || strings.Contains(err.Error(), "not supported yet")) {
			return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
		return err
	}
	return run(ctx, c, &tilerun.Emulator{GPU: on.gpu, Schedule: k.schedule, Compiled: res, NoteEqualStores: true})
}

func run(ctx context.Context, c *cases.Case, m cases.Machine) error {
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	if v := cases.Run(ctx, m, c); v.Status != cases.Pass {
		return errors.New(v.String())
	}
	return nil
}

// report says what fails, and with which steps alone it does.
func (k *check) report(t *testing.T, steps []Step, err error) {
	few := Fewest(steps, func(steps []Step) bool {
		_, err := k.judge(t.Context(), steps)
		return err != nil && !errors.Is(err, errors.ErrUnsupported)
	})
	where := ""
	if rewritten, _, err := Rewrite(k.Case, few); err == nil {
		where = keep(rewritten, k.seed)
	}
	t.Errorf("seed %d, %s, rewritten by %s (fewest that fail: %s): %v\n%s", k.seed, k.Name, Names(steps), Names(few), err, where)
}

// keep writes a rewritten kernel into the folder TILEIRAS_METAMORPHIC_KEEP, and says where it is or how it gets there.
func keep(c *cases.Case, seed uint64) string {
	folder := os.Getenv("TILEIRAS_METAMORPHIC_KEEP")
	if folder == "" {
		return "TILEIRAS_METAMORPHIC_KEEP=FOLDER writes the module as text"
	}
	file := filepath.Join(folder, fmt.Sprintf("%s.%d.tileir", c.Name, seed))
	if err := os.WriteFile(file, c.Bytecode, 0o666); err != nil {
		return err.Error()
	}
	return "the module is in " + file
}

func TestFewestStepsAreLeft(t *testing.T) {
	var steps []Step
	for i := range Rewritings[:8] {
		steps = append(steps, Step{&Rewritings[i], uint64(i)})
	}
	few := Fewest(steps, func(steps []Step) bool {
		return slices.ContainsFunc(steps, func(s Step) bool { return s.Seed == 2 }) && slices.ContainsFunc(steps, func(s Step) bool { return s.Seed == 5 })
	})
	if len(few) != 2 || few[0].Seed != 2 || few[1].Seed != 5 {
		t.Errorf("%s are left", Names(few))
	}
}
