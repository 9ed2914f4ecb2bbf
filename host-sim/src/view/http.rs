//! As much of HTTP/1.1 as one page on this machine needs: one request per connection, small bodies, no surprises.

use std::io::{self, BufRead, BufReader, Read, Write};

/// The longest line of a request, all lines together, and the longest body.
const LINE_MAX: u64 = 8 * 1024;
const LINES_MAX: usize = 100;
const BODY_MAX: u64 = 4 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// With what follows a question mark.
    pub path: String,
    pub host: String,
    /// The page that asks, where the browser says so.
    pub origin: Option<String>,
    pub body: String,
}

/// Reads one request; `None` where there is none or it makes no sense.
pub fn read(stream: impl Read) -> io::Result<Option<Request>> {
    let mut input = BufReader::new(stream);
    let mut request = Request::default();
    let Some(first) = line(&mut input)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(path), Some(version)) = (words.next(), words.next(), words.next()) else { return Ok(None) };
    if !version.starts_with("HTTP/1.") || words.next().is_some() {
        return Ok(None);
    }
    (request.method, request.path) = (method.to_owned(), path.to_owned());
    let mut length = 0;
    for _ in 0..LINES_MAX {
        let Some(header) = line(&mut input)? else { return Ok(None) };
        if header.is_empty() {
            let mut body = Vec::new();
            input.take(length).read_to_end(&mut body)?;
            let is_whole = body.len() as u64 == length;
            request.body = String::from_utf8(body).unwrap_or_default();
            return Ok(is_whole.then_some(request));
        }
        let Some((name, value)) = header.split_once(':') else { return Ok(None) };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "host" => value.clone_into(&mut request.host),
            "origin" => request.origin = Some(value.to_owned()),
            "content-length" => match value.parse() {
                Ok(bytes) if bytes <= BODY_MAX => length = bytes,
                _ => return Ok(None),
            },
            _ => {}
        }
    }
    Ok(None)
}

fn line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    input.take(LINE_MAX).read_until(b'\n', &mut bytes)?;
    let text = String::from_utf8(bytes).ok();
    Ok(text.and_then(|text| text.strip_suffix('\n').map(|text| text.trim_end_matches('\r').to_owned())))
}

/// Answers with a body of this kind, and ends the connection.
pub fn answer(stream: &mut impl Write, status: &str, kind: &str, body: &str) -> io::Result<()> {
    head(stream, status, kind, Some(body.len()))?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

/// Begins an answer whose body follows; without a length it lasts until the connection ends.
pub fn head(stream: &mut impl Write, status: &str, kind: &str, length: Option<usize>) -> io::Result<()> {
    let length = length.map_or_else(String::new, |length| format!("Content-Length: {length}\r\n"));
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{length}Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::{Request, read};

    #[test]
    fn requests_are_read() {
        let text =
            "POST /a/run?x=1 HTTP/1.1\r\nHOST: 127.0.0.1:80\r\nOrigin: http://there\r\nContent-Length: 2\r\n\r\nhi!";
        let request = read(text.as_bytes()).unwrap().unwrap();
        let expected = Request {
            method: "POST".into(),
            path: "/a/run?x=1".into(),
            host: "127.0.0.1:80".into(),
            origin: Some("http://there".into()),
            body: "hi".into(),
        };
        assert_eq!(request, expected);
    }

    #[test]
    fn nonsense_is_none() {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(9_000));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(200));
        for text in [
            "",
            "\r\n",
            "GET /\r\n\r\n",
            "GET / HTTP/2\r\n\r\n",
            "GET / HTTP/1.1 more\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhi",
            "GET / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\nhi",
            "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\nhi",
            &long,
            &many,
        ] {
            assert_eq!(read(text.as_bytes()).unwrap(), None, "{}", text.get(..60).unwrap_or(text));
        }
    }
}
