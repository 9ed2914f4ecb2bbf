use super::{Chart, Datum, Series};

fn sample(log_y: bool) -> Chart {
    let series = |number: u32| Series {
        label: format!("line <{number}> & \"more\""),
        points: (1..=10).map(|x| Datum { x: f64::from(10 * x), y: f64::from(x * x * (number + 1)) }).collect(),
        look: None,
    };
    Chart {
        title: "Costs & \"times\"".into(),
        x_label: "nodes <all>".into(),
        y_label: "messages".into(),
        log_y,
        series: (0..9).map(series).collect(),
    }
}

/// Checks that tags nest and attributes are quoted, and gives the text between the tags.
fn texts(svg: &str) -> Vec<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut texts = Vec::new();
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("every tag ends");
        assert!(!text.contains('>') && tag.matches('"').count() % 2 == 0, "{piece}");
        let name = tag.split_whitespace().next().expect("every tag has a name");
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        let entities_gone =
            ["&amp;", "&lt;", "&gt;", "&quot;"].iter().fold(text.to_string(), |text, entity| text.replace(entity, ""));
        assert!(!entities_gone.contains('&'), "{text}");
        let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        texts.push(plain.trim().to_string());
    }
    assert!(open.is_empty(), "left open: {open:?}");
    texts
}

#[test]
fn a_chart_is_well_formed_and_names_everything() {
    for log_y in [false, true] {
        let chart = sample(log_y);
        let texts = texts(&chart.svg().expect("a chart"));
        let labels = chart.series.iter().map(|series| &series.label);
        for name in labels.chain([&chart.title, &chart.x_label, &chart.y_label]) {
            assert!(texts.contains(name), "{name} is not among {texts:?}");
        }
        assert!(texts.contains(&"500".to_string()), "a tick of the y axis");
    }
}

#[test]
fn writing_twice_gives_the_same_bytes() {
    let dir = std::env::temp_dir().join(format!("ringleader-chart-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory for temporary files");
    let files = ["first.svg", "second.svg"].map(|name| dir.join(name));
    for file in &files {
        sample(true).write_svg(file).expect("a chart");
    }
    let [first, second] = files.map(|file| std::fs::read(file).expect("a file"));
    std::fs::remove_dir_all(&dir).expect("the directory is ours");
    assert!(first.starts_with(b"<svg") && first == second);
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let refused = |chart: Chart| chart.svg().expect_err("not drawable").to_string();
    assert!(refused(Chart { series: Vec::new(), ..sample(false) }).contains("no points"));
    let mut zero = sample(true);
    zero.series[3].points[0].y = 0.0;
    assert!(refused(zero.clone()).contains("cannot be drawn"));
    assert!(Chart { log_y: false, ..zero }.svg().is_ok());
    let mut endless = sample(false);
    endless.series[0].points[2].y = f64::NAN;
    assert!(refused(endless).contains("cannot be drawn"));
}
