package facts

import "testing"

func TestLikelySectors(t *testing.T) {
	const pointers = `
		%i = iota : tile<128xi32>
		%s = splat %p : (tile<ptr<f32>>) -> tile<128xptr<f32>>
		%u = splat %n : (tile<i32>) -> tile<128xi32>
		%two = constant <i32: 2> : tile<128xi32>
		%three = constant <i32: 3> : tile<128xi32>
		%hundred = constant <i32: 100> : tile<128xi32>
		%a = offset %s, %i : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%i2 = muli %i, %two : tile<128xi32>
		%b = offset %s, %i2 : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%i100 = muli %hundred, %i : tile<128xi32>
		%h = offset %s, %i100 : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%in = muli %i, %u : tile<128xi32>
		%d = offset %s, %in : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%row = divi %i, %u : tile<128xi32>
		%column = remi %i, %u : tile<128xi32>
		%rows = muli %row, %u : tile<128xi32>
		%place = addi %rows, %column : tile<128xi32>
		%e = offset %s, %place : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%row3 = divi %i, %three : tile<128xi32>
		%column3 = remi %i, %three : tile<128xi32>
		%far3 = muli %row3, %u : tile<128xi32>
		%place3 = addi %far3, %column3 : tile<128xi32>
		%f = offset %s, %place3 : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%square = muli %i, %i : tile<128xi32>
		%g = offset %s, %square : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>`
	f, ops := module(t, pointers)
	for name, want := range map[string]int64{
		"a": 1,  // p + i
		"b": 1,  // p + 2i
		"h": 32, // p + 100i
		"d": 8,  // p + n i
		"e": 1,  // p + n (i / n) + i % n: a row of an array whose length nobody knows
		"f": 10, // p + n (i / 3) + i % 3: three at a time
		"g": 32, // p + i i
	} {
		if got := f.LikelySectors(ops[name].Result(0), 0, 32); got != want {
			t.Errorf("pointers %s likely touch %d sectors, want %d", name, got, want)
		}
	}
}
