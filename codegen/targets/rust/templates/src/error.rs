//! The one error type.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;

use crate::tables::{Rule, LAYOUTS, LOOKALIKES, SECTIONS, VALUE_NAMES, VERSIONS};

/// Where in a file an error was found: section, record and field by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) section: usize,
    pub(crate) record: u64,
    pub(crate) field: Option<usize>,
}

/// The section number of places that are in no section of records.
pub(crate) const DATA: usize = SECTIONS.len();

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Rule(&'static Rule),
    Argument(&'static str),
}

/// What is wrong with a file, or with the arguments of a call.
///
/// [`code`](Error::code) is the id of the rule that a file breaks (`GG0101`); the ids are the same
/// in every language of ggufspec and never reused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    what: What,
    offset: Option<u64>,
    place: Option<Place>,
    first: i128,
    second: i128,
    #[cfg(feature = "alloc")]
    name: Option<Box<[u8]>>,
}

impl Error {
    pub(crate) fn rule(rule: &'static Rule) -> Self {
        Error {
            what: What::Rule(rule),
            offset: None,
            place: None,
            first: 0,
            second: 0,
            #[cfg(feature = "alloc")]
            name: None,
        }
    }

    pub(crate) fn argument(message: &'static str) -> Self {
        Error {
            what: What::Argument(message),
            offset: None,
            place: None,
            first: 0,
            second: 0,
            #[cfg(feature = "alloc")]
            name: None,
        }
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn at(mut self, offset: u64, place: Place) -> Self {
        self.offset = Some(offset);
        self.place = Some(place);
        self
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn with(mut self, first: i128, second: i128) -> Self {
        self.first = first;
        self.second = second;
        self
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn about(mut self, section: usize, name: &[u8]) -> Self {
        const SHOWN: usize = 60;
        let name = name.get(..SHOWN).unwrap_or(name);
        self.name = Some(Box::from(name));
        if self.place.is_none() {
            self.place = Some(Place { section, record: 0, field: None });
        }
        self
    }

    /// The id of the broken rule, as `GG0101`; `ARGUMENT` for a call that makes no sense.
    pub fn code(&self) -> &'static str {
        match self.what {
            What::Rule(rule) => rule.id,
            What::Argument(_) => "ARGUMENT",
        }
    }

    /// The byte of the file at which it was found, where there is one.
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// What to do about it; empty where there is nothing to say.
    pub fn hint(&self) -> &'static str {
        match self.what {
            What::Rule(rule) => rule.hint,
            What::Argument(_) => "",
        }
    }

    /// Whether it is about something that this version does not know, rather than about damage.
    pub fn is_unsupported(&self) -> bool {
        matches!(self.what, What::Rule(rule) if rule.unsupported)
    }

    /// What is wrong, in words and without the code; an object that shows itself.
    pub fn message(&self) -> impl fmt::Display + '_ {
        Message(self)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let What::Rule(rule) = self.what {
            write!(to, "{}: ", rule.id)?;
        }
        write!(to, "{}", Message(self))?;
        if let Some(offset) = self.offset {
            write!(to, " (byte {offset})")?;
        }
        if !self.hint().is_empty() {
            write!(to, "; {}", self.hint())?;
        }
        Ok(())
    }
}

#[cfg(feature = "std")]
impl std::error::Error for Error {}

struct Message<'a>(&'a Error);

impl fmt::Display for Message<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = match self.0.what {
            What::Argument(message) => return to.write_str(message),
            What::Rule(rule) => rule,
        };
        let mut rest = rule.message;
        while let Some((text, (name, behind))) = rest
            .split_once('{')
            .and_then(|(text, more)| more.split_once('}').map(|pair| (text, pair)))
        {
            to.write_str(text)?;
            self.fill(rule, name, to)?;
            rest = behind;
        }
        to.write_str(rest)
    }
}

impl Message<'_> {
    /// What stands for a name in the braces of a rule's message.
    fn fill(&self, rule: &Rule, name: &str, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.0;
        match name {
            "subject" => self.subject(to),
            "known" => match (VERSIONS.first(), VERSIONS.last()) {
                (Some(first), Some(last)) => write!(to, "{first} to {last}"),
                _ => Ok(()),
            },
            "lookalike" => match usize::try_from(error.first - 1).map(|at| LOOKALIKES.get(at)) {
                Ok(Some((_, what))) => write!(to, "; it may be {what}"),
                _ => Ok(()),
            },
            "type" => match VALUE_NAMES.iter().find(|(id, _)| i128::from(*id) == error.first) {
                Some((_, name)) => to.write_str(name),
                None => write!(to, "{}", error.first),
            },
            _ if name == rule.second => write!(to, "{}", error.second),
            _ => write!(to, "{}", error.first),
        }
    }

    fn subject(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(place) = self.0.place else {
            return to.write_str("the file");
        };
        #[cfg(feature = "alloc")]
        if let Some(name) = &self.0.name {
            let word = if place.section == 1 { "key" } else { "tensor" };
            return write!(to, "{word} \"{}\"", name.escape_ascii());
        }
        let Some(section) = SECTIONS.get(place.section) else {
            return to.write_str("data");
        };
        to.write_str(section)?;
        let Some(field) = place.field else {
            return Ok(());
        };
        if place.section > 0 {
            write!(to, "[{}]", place.record)?;
        }
        let fields = LAYOUTS.last().and_then(|layout| layout.sections.get(place.section));
        match fields.and_then(|fields| fields.get(field)) {
            Some(field) => write!(to, ".{}", field.name),
            None => Ok(()),
        }
    }
}
