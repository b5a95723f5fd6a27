//! Server-sent events, as far as Streamable HTTP uses them: bytes in, the data of each event out.
//!
//! Knows nothing of JSON; an event is bounded, because a stream never has to end.

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// Its name; `message` where it has none.
    pub(super) name: String,
    /// Its data, lines joined.
    pub(super) data: Vec<u8>,
}

/// An event has more bytes than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Cuts a stream into events.
#[derive(Debug)]
pub(super) struct Reader {
    limit: usize,
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    /// The line before ended in a carriage return: a line feed now belongs to it.
    after_return: bool,
    at_start: bool,
    last_id: Option<Vec<u8>>,
    retry: Option<u64>,
}

impl Reader {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            name: String::new(),
            data: Vec::new(),
            has_data: false,
            after_return: false,
            at_start: true,
            last_id: None,
            retry: None,
        }
    }

    /// For the rest of this stream, which comes as another one.
    pub(super) fn resumed(self) -> Self {
        Self { last_id: self.last_id, retry: self.retry, ..Self::new(self.limit) }
    }

    /// Bytes of what was read of the next event.
    pub(super) fn held(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// The id of the last event that had one: where a stream can be resumed.
    pub(super) fn last_id(&self) -> Option<&[u8]> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// How many milliseconds to wait before that, where the server says.
    pub(super) fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Takes bytes as they come and gives the events that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let taken = end.unwrap_or(bytes.len());
            if self.held() + taken > self.limit {
                return Err(TooLong);
            }
            self.line.extend_from_slice(&bytes[..taken]);
            let Some(end) = end else { break };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line());
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            let data = std::mem::take(&mut self.data);
            let name = if name.is_empty() { "message".to_owned() } else { name };
            return std::mem::take(&mut self.has_data).then_some(Event { name, data });
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => {
                (&line[..colon], line[colon + 1..].strip_prefix(b" ").unwrap_or(&line[colon + 1..]))
            }
            None => (line, &[][..]),
        };
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"id" => self.last_id = Some(value.to_owned()),
            b"retry" => self.retry = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok()),
            // Comments, and what nobody has defined.
            _ => {}
        }
        None
    }
}
