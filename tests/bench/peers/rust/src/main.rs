//! `time` requests of the conformance protocol (tests/languages), answered by other people's crates.
use std::fs::File;
use std::io::BufRead;
use std::time::Instant;

use candle_core::quantized::{ggml_file::qtensor_from_ggml, gguf_file::Content, GgmlDType};
use candle_core::Device;

fn best(count: usize, mut work: impl FnMut()) -> f64 {
    (0..count)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn open_candle(path: &str) {
    let mut file = File::open(path).unwrap();
    let content = Content::read(&mut file).unwrap();
    let mut seen = 0;
    for (name, value) in &content.metadata {
        seen += name.len() + std::mem::size_of_val(&value.value_type());
    }
    for (name, info) in &content.tensor_infos {
        seen += name.len() + info.shape.rank() + info.ggml_dtype.type_size();
    }
    std::hint::black_box(seen);
}

fn open_gguf_rs(path: &str) {
    let mut container = gguf_rs::get_gguf_container(path).unwrap();
    let model = container.decode().unwrap();
    let keys = model.metadata().iter().map(|(name, _)| name.len()).sum::<usize>();
    let tensors = model.tensors().iter().map(|t| t.name.len() + t.shape.len()).sum::<usize>();
    std::hint::black_box(keys + tensors);
}

fn main() {
    let peer = std::env::args().nth(1).expect("the peer's name");
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split('\t').collect();
        match (words.as_slice(), peer.as_str()) {
            (["time", "open", path, count], "candle-core") => {
                println!("seconds\t{}", best(count.parse().unwrap(), || open_candle(path)))
            }
            (["time", "open", path, count], "gguf-rs") => {
                println!("seconds\t{}", best(count.parse().unwrap(), || open_gguf_rs(path)))
            }
            (["time", "dequantize", "Q4_K", path, count], "candle-core") => {
                let raw = std::fs::read(path).unwrap();
                let elements = raw.len() / 144 * 256;
                let tensor =
                    qtensor_from_ggml(GgmlDType::Q4K, &raw, vec![elements], &Device::Cpu).unwrap();
                let seconds = best(count.parse().unwrap(), || {
                    std::hint::black_box(tensor.dequantize(&Device::Cpu).unwrap());
                });
                println!("seconds\t{seconds}")
            }
            _ => println!("fail\tnot offered"),
        }
        println!("end");
    }
}
