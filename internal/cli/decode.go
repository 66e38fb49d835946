package cli

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/bindery/bindery/jcs"
)

// maxOwnFile bounds config.json and secrets.json, which a party may have edited, and keys.
const maxOwnFile = 1 << 20

// readJSON reads a file of closed objects into the struct that v points to: members by
// their exact names, each at most once, and no others. One that may be left out says so as
// omitempty.
func readJSON(path string, v any) error {
	b, err := readOwn(path)
	if err != nil {
		return err
	}
	parsed, err := jcs.Parse(b)
	if err != nil {
		return err
	}
	r := jcs.NewReader(parsed)
	readStruct(r, reflect.ValueOf(v).Elem())
	err = r.Close()
	var wrong *jcs.MemberError
	if errors.As(err, &wrong) { // the name too, since this is nobody else's document
		return fmt.Errorf("its member %q: %s", wrong.Pointer, wrong.Rule)
	}
	return err
}

// readOwn reads a file of the directory. A pipe in its place is refused: it would wait for
// a writer.
func readOwn(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	b, err := readLimited(path, maxOwnFile+1)
	if len(b) > maxOwnFile {
		return nil, errors.New("it is too large")
	}
	return b, err
}

func readStruct(r *jcs.Reader, into reflect.Value) {
	for f, v := range into.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || option == "omitempty" && r.OptValue(name).Type() == jcs.Absent {
			continue
		}
		readMember(r, name, v)
	}
}

func readMember(r *jcs.Reader, name string, into reflect.Value) {
	switch into.Kind() {
	case reflect.String:
		into.SetString(r.Text(name))
	case reflect.Int64, reflect.Int:
		into.SetInt(r.Int(name))
	case reflect.Bool:
		into.SetBool(r.Bool(name))
	case reflect.Struct:
		readStruct(r.Object(name), into)
	case reflect.Pointer: // of an optional struct
		into.Set(reflect.New(into.Type().Elem()))
		readMember(r, name, into.Elem())
	case reflect.Map: // by names of the file's own
		readMap(r, name, into)
	case reflect.Slice:
		readSlice(r, name, into)
	default:
		r.Fail(name, "value") // a member of a kind that no file has
	}
}

func readMap(r *jcs.Reader, name string, into reflect.Value) {
	into.Set(reflect.MakeMap(into.Type()))
	inner := r.Object(name)
	for key := range r.OptValue(name).Members() {
		v := reflect.New(into.Type().Elem()).Elem()
		readMember(inner, key, v)
		into.SetMapIndex(reflect.ValueOf(key), v)
	}
}

// readSlice reads a list of strings, or, into bytes, JSON of any type as it is.
func readSlice(r *jcs.Reader, name string, into reflect.Value) {
	if into.Type().Elem().Kind() == reflect.Uint8 {
		into.SetBytes(r.Value(name).Bytes())
		return
	}
	if r.OptValue(name).Type() == jcs.NullType { // as a nil slice was written once
		return
	}
	var list []string
	for _, item := range r.Items(name) {
		s, ok := item.Text()
		if !ok {
			r.Fail(name, "type")
			return
		}
		list = append(list, s)
	}
	into.Set(reflect.ValueOf(list).Convert(into.Type()))
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
