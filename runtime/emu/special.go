package emu

import "strings"

// specials are the special registers (section 10): the value of a lane, or nil for those that the emulator lacks.
var specials = func() map[string]func(w *warp, i int) uint64 {
	type get = func(w *warp, i int) uint64
	m := map[string]get{
		"%laneid":                    func(w *warp, i int) uint64 { return uint64(i) },
		"%warpid":                    func(w *warp, i int) uint64 { return uint64(w.idx) },
		"%nwarpid":                   func(w *warp, i int) uint64 { return uint64(len(w.cta.warps)) },
		"%smid":                      func(w *warp, i int) uint64 { return 0 },
		"%nsmid":                     func(w *warp, i int) uint64 { return 1 },
		"%gridid":                    func(w *warp, i int) uint64 { return 1 },
		"%lanemask_eq":               func(w *warp, i int) uint64 { return 1 << i },
		"%lanemask_lt":               func(w *warp, i int) uint64 { return 1<<i - 1 },
		"%lanemask_le":               func(w *warp, i int) uint64 { return 2<<i - 1 },
		"%lanemask_gt":               func(w *warp, i int) uint64 { return uint64(^uint32(2<<i - 1)) },
		"%lanemask_ge":               func(w *warp, i int) uint64 { return uint64(^uint32(1<<i - 1)) },
		"%clock":                     func(w *warp, i int) uint64 { return w.launch.time() & widthMask(32) },
		"%clock_hi":                  func(w *warp, i int) uint64 { return w.launch.time() >> 32 },
		"%clock64":                   func(w *warp, i int) uint64 { return w.launch.time() },
		"%globaltimer":               func(w *warp, i int) uint64 { return w.launch.time() },
		"%globaltimer_lo":            func(w *warp, i int) uint64 { return w.launch.time() & widthMask(32) },
		"%globaltimer_hi":            func(w *warp, i int) uint64 { return w.launch.time() >> 32 },
		"%total_smem_size":           func(w *warp, i int) uint64 { return uint64(w.launch.sharedSize) },
		"%aggr_smem_size":            func(w *warp, i int) uint64 { return uint64(w.launch.sharedSize) },
		"%dynamic_smem_size":         func(w *warp, i int) uint64 { return uint64(w.launch.opt.DynShared) },
		"%reserved_smem_offset_size": func(w *warp, i int) uint64 { return 0 },
		"%is_explicit_cluster":       func(w *warp, i int) uint64 { return 0 },
		"%cluster_ctarank":           func(w *warp, i int) uint64 { return uint64(w.clusterRank()) },
		"%cluster_nctarank": func(w *warp, i int) uint64 {
			c := w.launch.cluster
			return uint64(c[0] * c[1] * c[2])
		},
	}
	for k, axis := range []string{"x", "y", "z"} {
		m["%tid."+axis] = func(w *warp, i int) uint64 { return w.tid[k][i] }
		m["%ntid."+axis] = func(w *warp, i int) uint64 { return uint64(w.launch.block[k]) }
		m["%ctaid."+axis] = func(w *warp, i int) uint64 { return uint64(w.cta.id[k]) }
		m["%nctaid."+axis] = func(w *warp, i int) uint64 { return uint64(w.launch.grid[k]) }
		m["%clusterid."+axis] = func(w *warp, i int) uint64 { return uint64(w.cta.id[k] / w.launch.cluster[k]) }
		m["%nclusterid."+axis] = func(w *warp, i int) uint64 { return uint64(w.launch.grid[k] / w.launch.cluster[k]) }
		m["%cluster_ctaid."+axis] = func(w *warp, i int) uint64 { return uint64(w.cta.id[k] % w.launch.cluster[k]) }
		m["%cluster_nctaid."+axis] = func(w *warp, i int) uint64 { return uint64(w.launch.cluster[k]) }
	}
	for _, name := range []string{"%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid", // as vectors
		"%current_graph_exec", "%reserved_smem_offset_begin", "%reserved_smem_offset_end", "%reserved_smem_offset_cap"} {
		m[name] = nil
	}
	for i := range 2 {
		m["%reserved_smem_offset_"+itoa(i)] = nil
	}
	for i := range 8 {
		m["%pm"+itoa(i)], m["%pm"+itoa(i)+"_64"] = nil, nil
	}
	for i := range 32 {
		m["%envreg"+itoa(i)] = nil
	}
	return m
}()

// clusterRank numbers the CTAs of a cluster, x first.
func (w *warp) clusterRank() int {
	c, id := w.launch.cluster, w.cta.id
	return id[0]%c[0] + c[0]*(id[1]%c[1]+c[1]*(id[2]%c[2]))
}

// time is a clock that only depends on what has been executed: one warp instruction is 8 ns.
func (l *launch) time() uint64 { return uint64(l.stats.warpInstrs) * 8 }

func (c *compiler) readSpecial(name string, fn func(w *warp, i int) uint64) func(w *warp, in *inst, m uint32) {
	if strings.HasPrefix(name, "%clock") || strings.HasPrefix(name, "%globaltimer") {
		c.prog.communicates = true
	}
	return func(w *warp, in *inst, m uint32) {
		for i := range w.tmp {
			w.tmp[i] = fn(w, i)
		}
		w.put(in.dst[0], m, &w.tmp)
	}
}
