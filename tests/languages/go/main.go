// The conformance program of Go: answers requests from standard input, one a line.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"ggufspec"
)

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line != "" || err == nil {
			answer(out, strings.Split(line, "\t"))
			fmt.Fprintln(out, "end")
			out.Flush()
		}
		if err != nil {
			return
		}
	}
}

// answer writes what a request asks for, or what went wrong.
func answer(out *bufio.Writer, fields []string) {
	var made bytes.Buffer
	err := func() (err error) {
		defer func() {
			if failed := recover(); failed != nil {
				err = fmt.Errorf("panic: %v", failed)
			}
		}()
		handle, ok := requests[fields[0]]
		if !ok || handle.arguments != any && len(fields)-1 != handle.arguments {
			return errors.New("unknown request " + fields[0])
		}
		return handle.run(&made, fields[1:])
	}()
	var broken *ggufspec.Error
	switch {
	case errors.As(err, &broken):
		offset := "-"
		if broken.Offset >= 0 {
			offset = strconv.FormatInt(broken.Offset, 10)
		}
		fmt.Fprintf(out, "error\t%s\t%s\n", broken.Code, offset)
	case err != nil:
		fmt.Fprintf(out, "fail\t%s\n", strings.NewReplacer("\n", " ", "\t", " ").Replace(err.Error()))
	default:
		out.Write(made.Bytes())
	}
}

type request struct {
	arguments int
	run       func(out *bytes.Buffer, arguments []string) error
}

var requests = map[string]request{
	"hello":      {0, hello},
	"types":      {0, types},
	"open":       {2, open},
	"tensor":     {3, tensor},
	"dequantize": {4, dequantize},
	"unpack":     {2, unpack},
	"pack":       {2, pack},
	"copy":       {2, copyFile},
	"time":       {any, timed},
}

const any = -1 // arguments

func hello(out *bytes.Buffer, _ []string) error {
	fmt.Fprintf(out, "hello\tgo\t%s\n", ggufspec.SpecVersion)
	return nil
}

func types(out *bytes.Buffer, _ []string) error {
	for _, t := range ggufspec.Types() {
		id := "-"
		if t.ID >= 0 {
			id = strconv.Itoa(t.ID)
		}
		fmt.Fprintf(out, "type\t%s\t%s\t%d\t%d\t%s\n", id, t.Name, t.Elements, t.Bytes, t.Status)
	}
	return nil
}

func opened(name, path string) (*ggufspec.File, error) {
	profile, ok := ggufspec.ParseProfile(name)
	if !ok {
		return nil, errors.New("unknown profile " + name)
	}
	return ggufspec.OpenProfile(path, profile)
}

func open(out *bytes.Buffer, arguments []string) error {
	f, err := opened(arguments[0], arguments[1])
	if err != nil {
		return err
	}
	defer f.Close()
	order := "little"
	if f.ByteOrder == binary.ByteOrder(binary.BigEndian) {
		order = "big"
	}
	fmt.Fprintf(out, "ok\t%d\t%s\t%d\t%d\n", f.Version, order, f.Alignment, f.DataOffset)
	for i := 0; i < f.Metadata.Len(); i++ {
		key, value := f.Metadata.At(i)
		fmt.Fprintf(out, "key\t%x\t%s:", key, value.Type())
		if err := write(out, value); err != nil {
			return err
		}
		out.WriteByte('\n')
	}
	for _, t := range f.Tensors {
		dims, size := "-", "-"
		if len(t.Dims) > 0 {
			dims = strings.Trim(strings.ReplaceAll(fmt.Sprint(t.Dims), " ", ","), "[]")
		}
		if t.Size >= 0 {
			size = strconv.FormatInt(t.Size, 10)
		}
		fmt.Fprintf(out, "tensor\t%x\t%d\t%s\t%d\t%s\n", t.Name, t.TypeID, dims, t.Offset, size)
	}
	return nil
}

// write writes a value without its type.
func write(out *bytes.Buffer, value ggufspec.Value) error {
	switch value.Type() {
	case ggufspec.Array:
		return writeArray(out, value)
	case ggufspec.String:
		text, err := value.Text()
		fmt.Fprintf(out, "%x", text)
		return err
	case ggufspec.Bool:
		truth, err := value.Bool()
		out.WriteByte("01"[map[bool]int{true: 1}[truth]])
		return err
	}
	if number, err := value.Float(); err == nil {
		writeFloat(out, value, number)
		return nil
	}
	if number, err := value.Uint(); err == nil {
		out.WriteString(strconv.FormatUint(number, 10))
		return nil
	}
	number, err := value.Int()
	out.WriteString(strconv.FormatInt(number, 10))
	return err
}

func writeFloat(out *bytes.Buffer, value ggufspec.Value, number float64) {
	bits, _ := value.Bits()
	switch {
	case math.IsNaN(number):
		out.WriteString("nan")
	case value.Type() == ggufspec.Float64:
		fmt.Fprintf(out, "%016x", bits)
	default:
		fmt.Fprintf(out, "%08x", math.Float32bits(float32(number)))
	}
}

func writeArray(out *bytes.Buffer, value ggufspec.Value) error {
	fmt.Fprintf(out, "%s:%d:[", value.Elem(), value.Len())
	if value.Elem() == ggufspec.String {
		texts, err := value.Strings()
		if err != nil {
			return err
		}
		digits := make([]byte, 0, 256)
		for i := 0; i < texts.Len(); i++ {
			if i > 0 {
				out.WriteByte(',')
			}
			text := texts.Bytes(i)
			digits = append(digits[:0], make([]byte, hex.EncodedLen(len(text)))...)
			hex.Encode(digits, text)
			out.Write(digits)
		}
		out.WriteByte(']')
		return nil
	}
	values, err := value.Values()
	if err != nil {
		return err
	}
	for i := range values {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := write(out, values[i]); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	return nil
}

func tensor(out *bytes.Buffer, arguments []string) error {
	f, err := opened(arguments[0], arguments[1])
	if err != nil {
		return err
	}
	defer f.Close()
	name, err := hex.DecodeString(arguments[2])
	if err != nil {
		return err
	}
	t := f.Tensor(string(name))
	if t == nil {
		return errors.New("no such tensor")
	}
	values, err := t.Float32s()
	if err != nil {
		return err
	}
	writeFloats(out, values)
	return nil
}

func writeFloats(out *bytes.Buffer, values []float32) {
	data := make([]byte, 0, 4*len(values))
	for _, value := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(value))
	}
	fmt.Fprintf(out, "f32\t%x\n", data)
}

func known(name string) (*ggufspec.Type, error) {
	if t := ggufspec.TypeByName(name); t != nil {
		return t, nil
	}
	return nil, errors.New("unknown type " + name)
}

func dequantize(out *bytes.Buffer, arguments []string) error {
	t, err := known(arguments[0])
	if err != nil {
		return err
	}
	var parts [3][]byte // prefix, suffix, row
	for i, text := range arguments[1:] {
		if text != "-" {
			if parts[i], err = hex.DecodeString(text); err != nil {
				return err
			}
		}
	}
	row := append(parts[0], parts[2]...)
	if t.Bytes == 0 {
		return t.Dequantize(nil, row, parts[1])
	}
	values := make([]float32, len(parts[2])/t.Bytes*t.Elements)
	if err := t.Dequantize(values, row, parts[1]); err != nil {
		return err
	}
	writeFloats(out, values)
	return nil
}

func unpack(out *bytes.Buffer, arguments []string) error {
	t, err := known(arguments[0])
	if err != nil {
		return err
	}
	blocks, err := hex.DecodeString(arguments[1])
	if err != nil {
		return err
	}
	codes, err := t.Unpack(blocks)
	if err != nil {
		return err
	}
	var parts []string
	for i, code := range t.Codes() {
		numbers := make([]string, len(codes[i]))
		for k, kept := range codes[i] {
			numbers[k] = strconv.FormatInt(code.Number(kept), 10)
		}
		parts = append(parts, code.Name+"="+strings.Join(numbers, ","))
	}
	fmt.Fprintf(out, "codes\t%s\n", strings.Join(parts, ";"))
	return nil
}

func pack(out *bytes.Buffer, arguments []string) error {
	t, err := known(arguments[0])
	if err != nil {
		return err
	}
	given := map[string][]int32{}
	for _, part := range strings.Split(arguments[1], ";") {
		name, list, _ := strings.Cut(part, "=")
		numbers := []int32{}
		for _, text := range strings.Split(list, ",") {
			number, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return err
			}
			numbers = append(numbers, int32(number))
		}
		given[name] = numbers
	}
	var codes [][]int32
	for _, code := range t.Codes() {
		codes = append(codes, given[code.Name])
	}
	blocks, err := t.Pack(codes)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "bytes\t%x\n", blocks)
	return nil
}

func copyFile(out *bytes.Buffer, arguments []string) error {
	f, err := ggufspec.Open(arguments[0])
	if err != nil {
		return err
	}
	defer f.Close()
	w := ggufspec.NewWriter()
	w.Version, w.ByteOrder, w.Alignment = f.Version, f.ByteOrder, f.Alignment
	for i := 0; i < f.Metadata.Len(); i++ {
		key, value := f.Metadata.At(i)
		if err := w.Set(key, value); err != nil {
			return err
		}
	}
	for _, t := range f.Tensors {
		if t.Size < 0 {
			return errors.New("unknown type")
		}
		var data io.Reader = t.Reader()
		if err := w.AddRaw(t.Name, t.TypeID, t.Dims, uint64(t.Size), data); err != nil {
			return err
		}
	}
	if err := w.WriteFile(arguments[1]); err != nil {
		return err
	}
	out.WriteString("ok\n")
	return nil
}

// timed says the best of several runs of "open PATH COUNT" or "dequantize TYPE PATH COUNT".
func timed(out *bytes.Buffer, arguments []string) error {
	var work func() error
	switch {
	case len(arguments) == 3 && arguments[0] == "open":
		work = func() error { return list(arguments[1]) }
	case len(arguments) == 4 && arguments[0] == "dequantize":
		t, err := known(arguments[1])
		if err != nil {
			return err
		}
		data, err := os.ReadFile(arguments[2])
		if err != nil {
			return err
		}
		values := make([]float32, len(data)/t.Bytes*t.Elements)
		work = func() error { return t.Dequantize(values, data, nil) }
	default:
		return errors.New("unknown request time")
	}
	count, err := strconv.Atoi(arguments[len(arguments)-1])
	if err != nil {
		return err
	}
	best := time.Duration(math.MaxInt64)
	for ; count > 0; count-- {
		start := time.Now()
		if err := work(); err != nil {
			return err
		}
		best = min(best, time.Since(start))
	}
	fmt.Fprintf(out, "seconds\t%.9f\n", best.Seconds())
	return nil
}

// list opens a file and goes through all keys and tensors.
func list(path string) error {
	f, err := ggufspec.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	seen := 0
	for i := 0; i < f.Metadata.Len(); i++ {
		key, value := f.Metadata.At(i)
		seen += len(key) + len(fmt.Sprint(value.Type()))
	}
	for _, t := range f.Tensors {
		seen += len(t.Name) + len(t.Dims)
	}
	if seen == 0 {
		return errors.New("nothing in the file")
	}
	return nil
}
