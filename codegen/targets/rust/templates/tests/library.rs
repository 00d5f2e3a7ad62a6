//! What needs no vectors: writing and reading again, wrong arguments, the type table.

use ggufspec::*;

#[test]
fn what_is_written_is_read() {
    let weights: Vec<u8> = (0..6).flat_map(|x| (x as f32).to_be_bytes()).collect();
    for version in 1..=3 {
        let inner = [Data::from(&[1_u8, 2][..]), Data::from(&["a"][..])];
        let mut writer = Writer::new();
        writer
            .version(version)
            .byte_order(ByteOrder::Big)
            .alignment(64)
            .add("general.architecture", "llama")
            .add("a.count", 7_u32)
            .add("a.numbers", &[1.5_f32, -0.0][..])
            .add("a.tokens", &["x", "", "βγ"][..])
            .add("a.nested", Data::Arrays(&inner));
        writer.tensor("w", types::by_name("F32").unwrap(), &[3, 2], &weights).unwrap();
        let bytes = writer.to_vec().unwrap();
        let file = Gguf::open(&bytes).unwrap();
        let keys = file.metadata();
        assert_eq!((file.version(), file.byte_order()), (version, ByteOrder::Big));
        assert_eq!(file.alignment(), 64);
        assert_eq!(keys.get("general.architecture").unwrap().as_str(), Some("llama"));
        assert_eq!(keys.get("a.count").unwrap().as_u64(), Some(7));
        let numbers = keys.get("a.numbers").unwrap().as_array().unwrap();
        assert_eq!(numbers.numbers::<f32>().unwrap().collect::<Vec<_>>(), [1.5, -0.0]);
        assert!(numbers.numbers::<f64>().is_none());
        let tokens = keys.get("a.tokens").unwrap().as_array().unwrap();
        assert_eq!(tokens.string_index().unwrap().get(2).unwrap(), "βγ");
        let nested = keys.get("a.nested").unwrap().as_array().unwrap();
        let lengths: Vec<usize> = nested.arrays().unwrap().map(|array| array.len()).collect();
        assert_eq!(lengths, [2, 1]);
        let tensor = file.tensor("w").unwrap();
        assert_eq!(tensor.dequantize().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(tensor.shape().collect::<Vec<_>>(), [2, 3]);

        let mut again = Writer::like(&file);
        again.add_all(keys);
        for tensor in file.tensors() {
            let (kind, data) = (tensor.kind().unwrap(), tensor.data().unwrap());
            again.tensor(tensor.name(), kind, tensor.dims(), data).unwrap();
        }
        assert_eq!(again.to_vec().unwrap(), bytes);
        let mut out = Vec::new();
        again.write_to(&mut out).unwrap();
        assert_eq!(out, bytes);
        again.byte_order(ByteOrder::Little);
        let little = again.to_vec().unwrap();
        let little = Gguf::open(&little).unwrap();
        assert!(little.metadata().iter().eq(keys.iter()));
    }
}

#[test]
fn tensors_can_be_written_piece_by_piece() {
    let kind = types::by_name("I8").unwrap();
    let mut writer = Writer::new();
    writer.plan("a", kind, &[3]).unwrap().plan("b", kind, &[40]).unwrap();
    let mut out = Vec::new();
    writer
        .write_with(&mut out, |number, to| to.write_all(&[number as u8 + 1; 40][..[3, 40][number]]))
        .unwrap();
    let file = Gguf::open(&out).unwrap();
    assert_eq!(file.tensor("a").unwrap().data().unwrap(), [1; 3]);
    assert_eq!(file.tensor("b").unwrap().data().unwrap(), [2; 40]);
    assert!(writer.write_to(&mut out).is_err());
    assert!(writer.to_vec().is_err());
}

#[test]
fn wrong_arguments_are_errors() {
    let kind = types::by_name("Q4_K").unwrap();
    assert_eq!(dequantize(kind, Parts::default(), &[0; 143]).unwrap_err().code(), "ARGUMENT");
    assert!(dequantize(types::by_name("Q4_2").unwrap(), Parts::default(), &[]).is_err());
    assert!(dequantize_into(kind, Parts::default(), &[0; 144], &mut [0.0; 255]).is_err());
    assert!(unpack(types::by_name("F32").unwrap(), &[0; 4]).is_err());
    assert!(pack(kind, &[]).is_err());
    let zeros = vec![0; kind.codes_per_block()];
    let mut wrong = zeros.clone();
    wrong[0] = -1;
    assert!(pack_into(kind, &zeros, &mut [0; 144]).is_ok());
    assert!(pack_into(kind, &wrong, &mut [0; 144]).is_err());
    let mut twice = Writer::new();
    twice.add("a", 1_u8).add("a", 2_u8);
    assert!(twice.to_vec().is_err());
    assert!(Writer::new().version(99).to_vec().is_err());
    assert!(Writer::new().alignment(12).to_vec().is_err());
    assert!(Writer::new().tensor("t", kind, &[255], &[]).is_err());
}

#[test]
fn types_are_found() {
    for kind in TYPES {
        assert_eq!(types::by_name(kind.name).unwrap().id, kind.id);
        if let Some(id) = kind.id {
            assert_eq!(types::by_id(id.into()).unwrap().name, kind.name);
        }
        assert_eq!(kind.elements == 0, kind.status == Status::Removed);
    }
    assert!(types::by_id(u64::MAX).is_none());
}

#[test]
fn the_first_error_comes_back() {
    let error = Gguf::open(b"GGML").unwrap_err();
    assert_eq!((error.code(), error.offset()), ("GG0101", Some(0)));
    assert!(!error.hint().is_empty());
    let shown = error.to_string();
    assert!(shown.starts_with("GG0101: the file does not start with"), "{shown}");
    assert_eq!(Gguf::open(b"").unwrap_err().code(), "GG0001");
}
