package executor

import (
	"tileiras/runtime/emu"
	"tileiras/runtime/interp"
)

// FaultKind is what a kernel did wrong, one word for programs, whichever engine found it.
type FaultKind string

const (
	FaultOutOfBounds  FaultKind = "out of bounds"       // an access of memory that the kernel was not given
	FaultReadOnly     FaultKind = "read-only"           // a store to memory that may only be read
	FaultMisaligned   FaultKind = "misaligned"          // an address that is no multiple of what it needs to be
	FaultUndefined    FaultKind = "undefined"           // a value that nobody defined was stored, or decided something
	FaultRace         FaultKind = "race"                // two accesses, one of them a write, that nothing orders
	FaultAssertion    FaultKind = "assertion"           // an assertion does not hold
	FaultPromise      FaultKind = "undefined behaviour" // interpreter: what the specification calls undefined, such as a false promise
	FaultInexact      FaultKind = "inexact value"       // interpreter, Options.Strict: a value that may be rounded otherwise decided something
	FaultInFlight     FaultKind = "in flight"           // emulator: bytes or registers of an asynchronous operation that still runs
	FaultMissingFence FaultKind = "missing fence"       // emulator: what the asynchronous proxy may not see
	FaultExited       FaultKind = "exited"              // emulator: shared memory of a thread block that has ended
	FaultTensorMemory FaultKind = "tensor memory"       // emulator: tensor memory that is not the warp's to access
	FaultDeadlock     FaultKind = "deadlock"            // emulator: no warp can go on
	FaultDivergence   FaultKind = "divergence"          // emulator: lanes that must be together are not
	FaultInvalid      FaultKind = "invalid"             // emulator: a misuse of an instruction
	FaultUnsupported  FaultKind = "not supported"       // emulator: an instruction that it does not know
	FaultEndless      FaultKind = "endless loop"        // emulator: a loop that no branch will leave
	FaultStepLimit    FaultKind = "step limit"          // a tile block ran for too long
	FaultBug          FaultKind = "BUG"                 // interpreter: its own fault
)

// interpKinds and emuKinds are the kinds of the engines.
var (
	interpKinds = [...]FaultKind{interp.UndefUse: FaultUndefined, interp.OutOfBounds: FaultOutOfBounds, interp.Misaligned: FaultMisaligned,
		interp.Undefined: FaultPromise, interp.InexactUse: FaultInexact, interp.AssertFailed: FaultAssertion, interp.StepLimit: FaultStepLimit,
		interp.ReadOnly: FaultReadOnly, interp.Internal: FaultBug}
	emuKinds = [emu.Kinds]FaultKind{emu.OutOfBounds: FaultOutOfBounds, emu.Misaligned: FaultMisaligned, emu.Undefined: FaultUndefined, emu.Race: FaultRace,
		emu.SameValueRace: FaultRace, emu.AsyncPending: FaultInFlight, emu.ProxyFence: FaultMissingFence, emu.Exited: FaultExited,
		emu.TensorMemory: FaultTensorMemory, emu.Deadlock: FaultDeadlock, emu.Divergence: FaultDivergence, emu.Trap: FaultAssertion,
		emu.Unsupported: FaultUnsupported, emu.Invalid: FaultInvalid, emu.StepLimit: FaultStepLimit, emu.ReadOnly: FaultReadOnly, emu.Endless: FaultEndless}
)
