package metamorphic

import (
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// branch makes an if of which each side has a block, and gives these.
func (r *rewriter) branch(condition value, results []ir.Type) (op *ir.Op, then, otherwise *ir.Block) {
	op = cudatile.NewIf(r.b, results, condition).Op
	return op, op.Region(0).AddBlock(), op.Region(1).AddBlock()
}

func (r *rewriter) yield(from *ir.Block, vs []value) {
	r.b.AtEnd(from)
	cudatile.NewYield(r.b, vs)
}

// putInIf puts statements into the side of an if that is always taken.
func (r *rewriter) putInIf(run []*ir.Op) {
	vs := usedBehind(run)
	r.b.Before(run[0])
	condition, second := r.truth(), r.heads()
	if second {
		condition = r.not(condition)
	}
	op, taken, other := r.branch(condition, ir.TypesOf(vs))
	if second {
		taken, other = other, taken
	}
	moveInto(run, taken)
	r.yield(taken, vs)
	r.b.AtEnd(other)
	cudatile.NewYield(r.b, r.zerosLike(vs))
	redirect(vs, op.Results(), op)
}

func statementsInIf(r *rewriter) bool {
	run := r.pickRun(func(*ir.Op) bool { return true })
	if run == nil {
		return false
	}
	r.putInIf(run)
	return true
}

func kernelInIf(r *rewriter) bool {
	ops := r.entry.Body().Ops()
	n := len(ops) - 1
	if n < 1 || ops[n].Code() != cudatile.OpReturn {
		return false
	}
	r.putInIf(ops[:n])
	return true
}

func earlyReturn(r *rewriter) bool {
	op := r.pick(func(op *ir.Op) bool { return op.ParentOp() == r.entry })
	if op == nil {
		return false
	}
	r.b.Before(op)
	left := cudatile.NewIf(r.b, nil, r.not(r.truth())).Op
	r.b.AtEnd(left.Region(0).AddBlock())
	cudatile.NewReturn(r.b, nil)
	return true
}

func swapBranches(r *rewriter) bool {
	op := r.pick(func(op *ir.Op) bool { return op.Code() == cudatile.OpIf })
	if op == nil {
		return false
	}
	r.b.Before(op)
	op.SetOperand(0, r.not(op.Operand(0)))
	if op.Region(1).Empty() {
		r.yield(op.Region(1).AddBlock(), nil)
	}
	var then ir.Region
	then.TakeBlocks(op.Region(0))
	op.Region(0).TakeBlocks(op.Region(1))
	op.Region(1).TakeBlocks(&then)
	return true
}

// pickFor chooses a for that counts with a sign, which ends its iterations at one place if it must.
func (r *rewriter) pickFor(ok func(cudatile.For) bool) (f cudatile.For, found bool) {
	op := r.pick(func(op *ir.Op) bool {
		f, is := ir.As[cudatile.For](op)
		return is && ir.BitWidth(tileOf(f.Step()).Elem) >= 32 && !f.UnsignedCmp() && ok(f)
	})
	if op == nil {
		return f, false
	}
	return ir.Cast[cudatile.For](op), true
}

func anyFor(cudatile.For) bool { return true }

func isSimple(f cudatile.For) bool {
	return len(continuesOf(f.Op)) == 1 && !contains(f.Op, cudatile.OpReturn)
}

// continuesOf lists the continues of a loop.
func continuesOf(loop *ir.Op) (list []*ir.Op) {
	ir.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		if op.Code() != cudatile.OpContinue {
			return
		}
		p := op.ParentOp()
		for p.Code() == cudatile.OpIf {
			p = p.ParentOp()
		}
		if p == loop {
			list = append(list, op)
		}
	})
	return list
}

func forAsWhile(r *rewriter) bool {
	f, found := r.pickFor(anyFor)
	if !found {
		return false
	}
	end, step, continues := f.UpperBound(), f.Step(), continuesOf(f.Op)
	r.b.Before(f.Op)
	loop := cudatile.NewLoop(r.b, ir.TypesOf(f.Op.Results()), append([]value{f.LowerBound()}, f.InitValues()...)).Op
	loop.Region(0).TakeBlocks(f.Op.Region(0))
	counter := loop.Body().Arg(0)
	for _, c := range continues {
		r.b.Before(c)
		next := r.add(counter, step)
		c.SetOperands(append([]value{next}, c.Operands()...), []int32{int32(c.NumOperands() + 1)})
	}
	r.b.AtStart(loop.Body())
	carried := loop.Body().Args()[1:]
	if r.heads() {
		stop := cudatile.NewIf(r.b, nil, r.compare(counter, def.PredGreaterEqual, end)).Op
		r.b.AtEnd(stop.Region(0).AddBlock())
		cudatile.NewBreak(r.b, carried)
	} else {
		_, then, otherwise := r.branch(r.compare(counter, def.PredLess, end), nil)
		r.yield(then, nil)
		r.b.AtEnd(otherwise)
		cudatile.NewBreak(r.b, carried)
	}
	redirect(f.Op.Results(), loop.Results(), loop)
	f.Op.Erase()
	return true
}

func forAsDoWhile(r *rewriter) bool {
	f, found := r.pickFor(isSimple)
	if !found {
		return false
	}
	end, step := f.UpperBound(), f.Step()
	r.b.Before(f.Op)
	op, some, none := r.branch(r.compare(f.LowerBound(), def.PredLess, end), ir.TypesOf(f.Op.Results()))
	r.yield(none, f.InitValues())
	r.b.AtEnd(some)
	loop := cudatile.NewLoop(r.b, ir.TypesOf(f.Op.Results()), append([]value{f.LowerBound()}, f.InitValues()...)).Op
	cudatile.NewYield(r.b, loop.Results())
	loop.Region(0).TakeBlocks(f.Op.Region(0))
	body := loop.Body()
	last := body.Last()
	vs := last.Operands()
	last.Erase()
	r.b.AtEnd(body)
	next := r.add(body.Arg(0), step)
	goOn := func() { cudatile.NewContinue(r.b, append([]value{next}, vs...)) }
	stop := func() { cudatile.NewBreak(r.b, vs) }
	first, second, p := goOn, stop, def.PredLess
	if r.heads() {
		first, second, p = stop, goOn, def.PredGreaterEqual
	}
	test := cudatile.NewIf(r.b, nil, r.compare(next, p, end)).Op
	r.b.AtEnd(test.Region(0).AddBlock())
	first()
	r.b.AtEnd(body)
	second()
	redirect(f.Op.Results(), op.Results(), op)
	f.Op.Erase()
	return true
}

func splitRange(r *rewriter) bool {
	f, found := r.pickFor(anyFor)
	if !found {
		return false
	}
	r.b.Before(f.Op)
	elem := tileOf(f.Step()).Elem
	iterations := r.scalar(elem, int64(r.IntN(4)))
	if r.heads() {
		iterations = r.add(iterations, r.zero(elem))
	}
	middle := r.add(f.LowerBound(), r.mul(iterations, f.Step()))
	first := ir.Cast[cudatile.For](r.b.Clone(f.Op, ir.Mapping{}))
	r.b.Before(first.Op)
	first.SetUpperBound(cudatile.NewMini(r.b, f.UpperBound(), middle, def.Signed).Result())
	f.SetLowerBound(middle)
	f.SetInitValues(first.Op.Results())
	return true
}

// iteration copies the body of a for that ends its iterations at one place, and gives what it passes on.
func (r *rewriter) iteration(f cudatile.For, counter value, carried []value) (next []value) {
	m := ir.Mapping{f.Region().Arg(0): counter}
	for i, v := range carried {
		m[f.Region().Arg(1+i)] = v
	}
	ops := f.Region().Ops()
	last := ops[len(ops)-1]
	for _, op := range ops[:len(ops)-1] {
		r.b.Clone(op, m)
	}
	for _, v := range last.Operands() {
		next = append(next, m.Lookup(v))
	}
	return next
}

func peelFirst(r *rewriter) bool {
	f, found := r.pickFor(isSimple)
	if !found {
		return false
	}
	r.b.Before(f.Op)
	some := r.compare(f.LowerBound(), def.PredLess, f.UpperBound())
	op, then, otherwise := r.branch(some, ir.TypesOf(f.Op.Results()))
	r.b.AtEnd(then)
	cudatile.NewYield(r.b, r.iteration(f, f.LowerBound(), f.InitValues()))
	r.yield(otherwise, f.InitValues())
	r.b.Before(f.Op)
	f.SetLowerBound(cudatile.NewSelect(r.b, some, r.add(f.LowerBound(), f.Step()), f.UpperBound()).Result())
	f.SetInitValues(op.Results())
	return true
}

func peelLast(r *rewriter) bool {
	f, found := r.pickFor(func(f cudatile.For) bool {
		n, known := cudatile.SplatIntOf(f.Step())
		return known && n == 1 && isSimple(f)
	})
	if !found {
		return false
	}
	r.b.Before(f.Op)
	some := r.compare(f.LowerBound(), def.PredLess, f.UpperBound())
	last := r.sub(f.UpperBound(), f.Step())
	f.SetUpperBound(cudatile.NewSelect(r.b, some, last, f.UpperBound()).Result())
	r.b.After(f.Op)
	op, then, otherwise := r.branch(some, ir.TypesOf(f.Op.Results()))
	redirect(f.Op.Results(), op.Results(), op)
	r.b.AtEnd(then)
	cudatile.NewYield(r.b, r.iteration(f, last, f.Op.Results()))
	r.yield(otherwise, f.Op.Results())
	return true
}

func unrollByTwo(r *rewriter) bool {
	f, found := r.pickFor(isSimple)
	if !found {
		return false
	}
	r.b.Before(f.Op)
	step, results := f.Step(), ir.TypesOf(f.Op.Results())
	two := cudatile.NewFor(r.b, results, f.LowerBound(), f.UpperBound(), r.add(step, step), f.InitValues(), cudatile.ForOptions{}).Op
	body := two.Region(0).AddBlock(append([]ir.Type{step.Type()}, results...)...)
	r.b.AtEnd(body)
	vs := r.iteration(f, body.Arg(0), body.Args()[1:])
	next := r.add(body.Arg(0), step)
	op, then, otherwise := r.branch(r.compare(next, def.PredLess, f.UpperBound()), results)
	r.b.AtEnd(then)
	cudatile.NewYield(r.b, r.iteration(f, next, vs))
	r.yield(otherwise, vs)
	r.b.AtEnd(body)
	cudatile.NewContinue(r.b, op.Results())
	redirect(f.Op.Results(), two.Results(), two)
	f.Op.Erase()
	return true
}

func loopThatBreaks(r *rewriter) bool {
	run := r.pickRun(func(op *ir.Op) bool { return !leaves(op) })
	if run == nil {
		return false
	}
	vs := usedBehind(run)
	r.b.Before(run[0])
	loop := cudatile.NewLoop(r.b, ir.TypesOf(vs), nil).Op
	body := loop.Region(0).AddBlock()
	moveInto(run, body)
	r.b.AtEnd(body)
	cudatile.NewBreak(r.b, vs)
	redirect(vs, loop.Results(), loop)
	return true
}

func forOfOne(r *rewriter) bool {
	run := r.pickRun(func(op *ir.Op) bool { return !leaves(op) && !contains(op, cudatile.OpReturn) })
	if run == nil {
		return false
	}
	vs := usedBehind(run)
	r.b.Before(run[0])
	end := r.scalar(r.i32(), 1)
	if r.heads() {
		end = r.add(end, r.zero(r.i32()))
	}
	op := cudatile.NewFor(r.b, ir.TypesOf(vs), r.scalar(r.i32(), 0), end, r.scalar(r.i32(), 1), r.zerosLike(vs), cudatile.ForOptions{}).Op
	body := op.Region(0).AddBlock(append([]ir.Type{end.Type()}, ir.TypesOf(vs)...)...)
	moveInto(run, body)
	r.b.AtEnd(body)
	cudatile.NewContinue(r.b, vs)
	redirect(vs, op.Results(), op)
	return true
}
