//! Remarks as workflow commands of GitHub Actions, which draws them beside the source. A text that
//! could end a command, begin another or add a property is percent-encoded as the runner decodes it.

use super::annotation::Annotation;
use super::safe;

/// The remarks, a command a line.
pub fn annotations(annotations: &[Annotation]) -> String {
    annotations.iter().map(command).collect()
}

fn command(annotation: &Annotation) -> String {
    let mut properties = Vec::new();
    if let Some(place) = &annotation.place {
        properties.push(format!("file={}", property(&place.file)));
        properties.push(format!("line={}", place.line));
        properties.push(format!("col={}", place.column));
    }
    properties.push(format!("title={}", property(&annotation.title)));
    format!("::{} {}::{}\n", annotation.level, properties.join(","), message(&annotation.message))
}

fn message(text: &str) -> String {
    safe::line(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::annotation::{self, AnnotationLevel};
    use super::super::sample_tests;
    use super::*;
    use crate::model::SourceLocation;

    #[test]
    fn a_remark_is_a_command_with_its_place() {
        let annotation = Annotation {
            finding: annotation::Finding::Drift,
            level: AnnotationLevel::Warning,
            place: Some(SourceLocation { file: "endpoints/shop/a,b:c.yaml".to_owned(), line: 7, column: 3 }),
            title: "replace shop/cart".to_owned(),
            part: String::new(),
            message: "spec.port: 80 -> 100 %\n::error::boo".to_owned(),
        };
        assert_eq!(
            annotations(&[annotation]),
            "::warning file=endpoints/shop/a%2Cb%3Ac.yaml,line=7,col=3,title=replace shop/cart::\
             spec.port: 80 -> 100 %25\\n::error::boo\n"
        );
    }

    #[test]
    fn hostile_texts_begin_no_command_of_their_own() {
        let text = annotations(&annotation::of_plan(&sample_tests::plan(50, true)));
        let remarks = annotation::of_plan(&sample_tests::plan(50, true)).len();
        assert_eq!(text.lines().count(), remarks);
        for line in text.lines() {
            let kinds = ["::error ", "::warning ", "::notice "];
            assert!(kinds.iter().any(|kind| line.starts_with(kind)), "{line}");
        }
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn every_change_that_an_apply_makes_is_a_remark() {
        let plan = sample_tests::attributed(sample_tests::plan(60, false));
        let text = annotations(&annotation::of_plan(&plan));
        for whose in ["(this change)", "(pending on base)", "(behind base)"] {
            assert!(text.contains(whose), "{whose} in {text}");
        }
    }

    #[test]
    fn what_can_hurt_most_is_among_the_first_remarks() {
        let titles: Vec<String> = annotation::of_plan(&sample_tests::plan(50, false))
            .into_iter()
            .filter(|remark| remark.level == AnnotationLevel::Warning)
            .map(|remark| remark.title)
            .collect();
        let first = |word: &str| titles.iter().position(|title| title.starts_with(word)).expect("a remark");
        assert!(first("blocked") < first("delete") && first("delete") < first("replace"), "{titles:?}");
    }

    #[test]
    fn what_matters_most_comes_first() {
        let levels: Vec<AnnotationLevel> =
            annotation::of_plan(&sample_tests::plan(50, false)).iter().map(|annotation| annotation.level).collect();
        assert!(levels.is_sorted());
        assert_eq!(levels.first(), Some(&AnnotationLevel::Error));
    }
}
