// Answers requests with ksc's Go, whose text stands beside this file with a package clause; the test
// adds `kinds`, the constructors of the block types. See read.mjs for the requests.

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"

	"github.com/kaitai-io/kaitai_struct_go_runtime/kaitai"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := bufio.NewWriter(os.Stdout)
	for in.Scan() {
		for _, line := range answer(strings.Split(in.Text(), "\t")) {
			fmt.Fprintln(out, line)
		}
		fmt.Fprintln(out, "end")
		out.Flush()
	}
}

func answer(request []string) (lines []string) {
	defer func() {
		if stopped := recover(); stopped != nil {
			name := "panic"
			if err, ok := stopped.(refusal); ok {
				name, stopped = fmt.Sprintf("%T", err.error), err.error
			}
			lines = []string{"refused\t" + name + "\t" + strings.Join(strings.Fields(fmt.Sprint(stopped)), " ")}
		}
	}()
	if request[0] == "file" {
		return file(request[1])
	}
	return block(request[1], request[2])
}

type refusal struct{ error }

func check(err error) {
	if err != nil {
		panic(refusal{err})
	}
}

// get is a field or the value of an instance.
func get(from reflect.Value, name string) reflect.Value {
	if from.Kind() == reflect.Interface {
		from = from.Elem()
	}
	if method := from.MethodByName(name); method.IsValid() {
		return called(method)
	}
	return from.Elem().FieldByName(name)
}

func called(method reflect.Value) reflect.Value {
	made := method.Call(nil)
	if err, failed := made[1].Interface().(error); failed {
		check(err)
	}
	return made[0]
}

func read(made reflect.Value, stream *kaitai.Stream) reflect.Value {
	method := made.MethodByName("Read")
	given := []reflect.Value{reflect.ValueOf(stream)}
	for index := 1; index < method.Type().NumIn(); index++ {
		if kind := method.Type().In(index); kind == made.Type() { // a file is its own root
			given = append(given, made)
		} else {
			given = append(given, reflect.Zero(kind))
		}
	}
	if err, failed := method.Call(given)[0].Interface().(error); failed {
		check(err)
	}
	return made
}

func file(path string) (lines []string) {
	content, err := os.ReadFile(path)
	check(err)
	wide := len(content) >= 8 && binary.LittleEndian.Uint32(content[4:]) >= 65536 &&
		binary.BigEndian.Uint32(content[4:]) < 65536
	made, order := reflect.ValueOf(NewGgufLe()), "little"
	if wide {
		made, order = reflect.ValueOf(NewGgufBe()), "big"
	}
	top := read(made, kaitai.NewStream(bytes.NewReader(content)))
	lines = append(lines, fmt.Sprintf("ok\t%v\t%s\t%v\t%v", get(top, "Version"), order,
		get(top, "Alignment"), get(top, "DataStart")))
	for _, pair := range list(get(top, "Metadata")) {
		kind := int(get(pair, "ValueType").Int())
		lines = append(lines, fmt.Sprintf("key\t%x\t%s", get(get(pair, "Key"), "Data"), text(kind, get(pair, "Value"))))
	}
	blocks := list(get(top, "TensorBlocks"))
	for index, tensor := range list(get(top, "Tensors")) {
		var dims []string
		for _, dim := range list(get(tensor, "Dims")) {
			dims = append(dims, fmt.Sprint(get(dim, "Value")))
		}
		size := "-"
		if get(tensor, "IsSized").Bool() {
			size = fmt.Sprint(get(blocks[index], "Data").Len())
		}
		shape := strings.Join(dims, ",")
		if shape == "" {
			shape = "-"
		}
		lines = append(lines, fmt.Sprintf("tensor\t%x\t%v\t%s\t%v\t%s", get(get(tensor, "Name"), "Data"),
			get(tensor, "TypeId"), shape, get(tensor, "Offset"), size))
	}
	return lines
}

func list(values reflect.Value) (made []reflect.Value) {
	for index := range values.Len() {
		made = append(made, values.Index(index))
	}
	return made
}

func text(kind int, value reflect.Value) string {
	name := valueTypes[kind]
	if name != "ARRAY" {
		if name != "STRING" {
			value = get(value, "Value")
		}
		return name + ":" + scalar(name, value)
	}
	element := int(get(value, "ElementType").Int())
	var elements []string
	for _, one := range list(get(get(value, "Body"), "Elements")) {
		if valueTypes[element] == "ARRAY" {
			elements = append(elements, strings.TrimPrefix(text(element, one), "ARRAY:"))
		} else {
			elements = append(elements, scalar(valueTypes[element], one))
		}
	}
	return fmt.Sprintf("ARRAY:%s:%v:[%s]", valueTypes[element], get(value, "Count"), strings.Join(elements, ","))
}

func scalar(name string, value reflect.Value) string {
	switch name {
	case "STRING":
		return hex.EncodeToString(get(value, "Data").Bytes())
	case "BOOL":
		if value.Uint() != 0 {
			return "1"
		}
		return "0"
	case "FLOAT32", "FLOAT64":
		if math.IsNaN(value.Float()) {
			return "nan"
		}
		if name == "FLOAT32" {
			return fmt.Sprintf("%08x", math.Float32bits(float32(value.Float())))
		}
		return fmt.Sprintf("%016x", math.Float64bits(value.Float()))
	}
	return fmt.Sprint(value)
}

func block(kind string, row string) (lines []string) {
	content, err := hex.DecodeString(row)
	check(err)
	stream := kaitai.NewStream(bytes.NewReader(content))
	var blocks []reflect.Value
	for {
		end, err := stream.EOF()
		check(err)
		if end {
			break
		}
		blocks = append(blocks, read(reflect.ValueOf(kinds[kind]()), stream))
	}
	shape := blocks[0].Elem().Type()
	for index := range shape.NumField() {
		if name := shape.Field(index).Name; shape.Field(index).IsExported() {
			lines = append(lines, codes(blocks, name)...)
		}
	}
	for index := range blocks[0].NumMethod() {
		method := blocks[0].Type().Method(index)
		if method.Type.NumIn() == 1 && method.Type.NumOut() == 2 {
			lines = append(lines, codes(blocks, method.Name)...)
		}
	}
	return lines
}

// codes is one line, or none for a group of fields.
func codes(blocks []reflect.Value, name string) []string {
	var numbers []string
	for _, block := range blocks {
		value := get(block, name)
		values := []reflect.Value{value}
		if value.Kind() == reflect.Slice {
			values = list(value)
		}
		for _, one := range values {
			if one.Kind() == reflect.Pointer {
				if !one.MethodByName("Value").IsValid() {
					return nil
				}
				one = get(one, "Value")
			}
			numbers = append(numbers, fmt.Sprint(one))
		}
	}
	return []string{"code\t" + name + "\t" + strings.Join(numbers, " ")}
}
