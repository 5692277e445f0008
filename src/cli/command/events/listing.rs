//! Events one after the other, in batches, in bounded memory: a batch is written before the next one
//! is fetched.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::EventsRequest;
use crate::api::Reader;
use crate::api::events::{self, Event, EventPage, MOST_EVENTS};
use crate::cli::command::prelude::*;
use crate::cli::output::WriteStatus;
use crate::report::event_list::EventList;
use crate::report::text::digits;

/// Lists the events that the query selects.
pub async fn run(mut question: EventsRequest<'_>, reader: &Reader) -> Result<ExitStatus> {
    let EventsRequest { arguments, context, .. } = question;
    let most = if arguments.all { u64::MAX } else { arguments.limit.unwrap_or(u64::from(MOST_EVENTS)) };
    question.query.scroll = most > u64::from(MOST_EVENTS);
    question.query.limit = Some(u32::try_from(most.min(u64::from(MOST_EVENTS))).unwrap_or(MOST_EVENTS));
    let mut pages = tokio::select! {
        pages = Pages::first(reader, &question) => pages?,
        () = interrupt::interrupted() => return Ok(ExitStatus::Interrupted),
    };
    let total = pages.total;
    let mut list = EventList::new(&arguments.fields, arguments.format, context.output.answers.clone());
    let heading = question.heading(total);
    context.output.note_answer();
    if output::write(&list.begin(&question.query, total, &heading))? == WriteStatus::Closed {
        return Ok(ExitStatus::Done);
    }
    let listed = tokio::select! {
        listed = batches(&mut pages, &mut list, most) => listed,
        () = interrupt::interrupted() => Err(error!(Interrupted, "interrupted")
            .hint("the answer is not whole")),
    };
    let listed = match listed.and_then(|listed| whole(listed, total, most)) {
        Ok(Some(listed)) => listed,
        Ok(None) => return Ok(ExitStatus::Done),
        Err(error) => {
            // A JSON list contains the error itself; the other formats get it when the command ends.
            if arguments.format == Format::Json {
                let _ = output::write(&list.end(Some(&error.report())))?;
            }
            return Err(error);
        }
    };
    // A reader that has closed the pipe by now has every event.
    let _ = output::write(&list.end(None))?;
    if let Some(total) = total.filter(|total| *total > listed) {
        context.output.message(&format!("{} of {}; every one with --all", digits(listed), text::count(total, "event")));
    }
    Ok(ExitStatus::Done)
}

/// Rejects a list that ended early, although each of its batches was valid.
fn whole(listed: Option<u64>, total: Option<u64>, most: u64) -> Result<Option<u64>> {
    match (listed, total) {
        (Some(listed), Some(total)) if listed < total.min(most) => {
            Err(error!(Unknown, "the service ended the list after {} of {} events", digits(listed), digits(total))
                .hint("the answer is not whole")
                .hint("start it again, over less time"))
        }
        _ => Ok(listed),
    }
}

/// Writes batch after batch, up to `most` events; returns their number, or `None` if the reader closed the pipe.
async fn batches(pages: &mut Pages<'_>, list: &mut EventList<'_>, most: u64) -> Result<Option<u64>> {
    let mut listed: u64 = 0;
    while let Some(page) = pages.next(listed).await? {
        let left = usize::try_from(most - listed).unwrap_or(usize::MAX);
        let batch: Vec<Event> = page.into_iter().take(left).collect();
        listed += u64::try_from(batch.len()).unwrap_or(u64::MAX);
        if output::write(&list.batch(&batch))? == WriteStatus::Closed {
            return Ok(None);
        }
        if listed >= most {
            break;
        }
    }
    Ok(Some(listed))
}

/// The batches of one query, in order.
pub struct Pages<'a> {
    reader: &'a Reader,
    question: &'a EventsRequest<'a>,
    page: Option<EventPage>,
    scroll_id: String,
    total: Option<u64>,
    /// Digests of the batches read so far: a scroll that repeats one would never end.
    batches: BTreeSet<u64>,
}

impl<'a> Pages<'a> {
    /// Sends the query.
    ///
    /// # Errors
    /// The query was not answered.
    pub async fn first(reader: &'a Reader, question: &'a EventsRequest<'a>) -> Result<Self> {
        let page = events::query(reader, &question.query).await.with_status(ExitStatus::Failed)?;
        let (total, batches) = (page.total(), BTreeSet::new());
        Ok(Self { reader, question, page: Some(page), scroll_id: String::new(), total, batches })
    }

    /// The next batch; `None` at the end. `earlier` is the number of events before it.
    ///
    /// # Errors
    /// The query was not answered, which is not retried, or the batch repeats an earlier one.
    pub async fn next(&mut self, earlier: u64) -> Result<Option<Vec<Event>>> {
        let page = match self.page.take() {
            Some(page) => page,
            None if self.scroll_id.is_empty() => {
                let is_full = earlier > 0 && earlier.is_multiple_of(u64::from(MOST_EVENTS));
                if self.total.is_none() && is_full {
                    let error = error!(Unknown, "the service does not say whether there are more events");
                    return Err(self.ended(error, earlier));
                }
                return Ok(None);
            }
            None => {
                let namespace = &self.question.query.namespace;
                let page = events::scroll(self.reader, namespace, &self.scroll_id).await;
                let page = page.map_err(|error| {
                    self.ended(CommandError::new(ExitStatus::Unknown, error), earlier)
                        .hint("a query declares a side effect, so it is not repeated; start it again, over less time")
                })?;
                // After the last event a service may answer an empty batch with a scroll id, again and again.
                if page.events.is_empty() {
                    return Ok(None);
                }
                page
            }
        };
        let mut hasher = DefaultHasher::new();
        page.events.iter().for_each(|event| event.json().hash(&mut hasher));
        if !self.batches.insert(hasher.finish()) {
            return Err(self.ended(error!(Unknown, "the service sent the same batch of events again"), earlier));
        }
        self.scroll_id = page.scroll_id;
        Ok(Some(page.events))
    }

    fn ended(&self, error: CommandError, earlier: u64) -> CommandError {
        let total = self.total.map_or_else(String::new, |total| format!(" of {}", digits(total)));
        error.hint(format!("{}{total} events had been read; the answer is not whole", digits(earlier)))
    }
}
