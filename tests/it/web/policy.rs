//! A policy on its page: read, tried on the drafts that there were, and set.

use axum::http::StatusCode;

use super::{check, html};
use crate::{
    ask::{answer, get, submit},
    seed,
};
use toolpact::access::{Caller, Role};

const POLICY: &str = "/catalogs/shop/policy";

/// What the form of a page would send as it stands: what is hidden, and nothing ticked.
fn seen(page: &str) -> String {
    let form = page.split_once("name=\"seen\" value=\"").expect("a form").1;
    form.split_once('"').expect("its value").0.to_owned()
}

#[tokio::test]
async fn another_policy_is_tried_on_the_drafts_that_there_were() {
    let app = seed::story().await;
    // As it is set, what breaks blocks d-4, and the first draft has nothing to break.
    let same = answer(&app, get(&format!("{POLICY}?failOn=breaking&failOn=undecided"))).await;
    check(POLICY, &same);
    assert!(same.body.contains("No draft would have fared otherwise"), "{}", same.body);
    let none = answer(&app, get(&format!("{POLICY}?assume=declared"))).await.body;
    assert!(none.contains("let through"), "{none}");
    let row = none.split_once("let through").expect("a row").0;
    assert!(
        row.contains("/catalogs/shop/drafts/4\">d-4"),
        "what only an absolute finding blocks stays: {none}"
    );
    let all =
        answer(&app, get(&format!("{POLICY}?failOn=compatible&failOn=breaking&failOn=undecided"))).await.body;
    assert!(all.contains("</span> blocked</span>") && all.contains("d-2"), "{all}");
    let few = answer(&app, get(&format!("{POLICY}?failOn=breaking&failOn=undecided&maxTools=1"))).await.body;
    assert!(few.contains("The draft holds 3 tools, the policy allows 1"), "{few}");
    assert!(
        answer(&app, get(POLICY)).await.body.contains("name=\"failOn\" value=\"breaking\" checked"),
        "nothing is set"
    );
}

#[tokio::test]
async fn a_policy_is_set_where_it_stands_as_it_was_seen() {
    let app = seed::story().await;
    let before = seen(&answer(&app, get(POLICY)).await.body);
    let fields = [
        ("seen", before.as_str()),
        ("failOn", "breaking"),
        ("assume", "strict"),
        ("approvals", "2"),
        ("maxTools", "40"),
        ("deprecationDays", "90"),
        ("new", "production"),
    ];
    let set = answer(&app, submit(POLICY, &fields)).await;
    assert_eq!((set.status, set.header("location")), (StatusCode::SEE_OTHER, POLICY), "{}", set.body);
    let page = answer(&app, get(POLICY)).await;
    check(POLICY, &page);
    for told in ["<td>strict</td>", "<td>2</td>", "<td>40</td>", "<td>90</td>", "name=\"e:production:there\""]
    {
        assert!(page.body.contains(told), "{told}: {}", page.body);
    }
    let stale = answer(&app, submit(POLICY, &[("seen", &before), ("approvals", "7")])).await;
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED);
    check(POLICY, &stale);
    assert!(
        stale.body.contains("name=\"approvals\" type=\"number\" min=\"0\" max=\"100000\" value=\"7\""),
        "{}",
        stale.body
    );
    let now = seen(&page.body);
    let fields = [
        ("seen", now.as_str()),
        ("failOn", "breaking"),
        ("assume", "strict"),
        ("e:production:there", "1"),
        ("e:production:own", "1"),
        ("e:production:failOn", "risky"),
        ("e:production:rollbackFailOn", "breaking"),
        ("e:production:probe", "skip"),
        ("e:production:approvals", "1"),
        ("e:production:deprecationDays", "180"),
    ];
    assert_eq!(answer(&app, submit(POLICY, &fields)).await.status, StatusCode::SEE_OTHER);
    let page = answer(&app, get(POLICY)).await.body;
    assert!(
        page.contains("are not asked")
            && page.contains("<td class=\"num\">180</td>")
            && html::values(&page, "href").any(|h| h == "/environments/production")
    );
    let now = seen(&page);
    let gone = [("seen", now.as_str()), ("e:production:there", "1"), ("e:production:remove", "1")];
    assert_eq!(answer(&app, submit(POLICY, &gone)).await.status, StatusCode::SEE_OTHER);
    assert!(answer(&app, get(POLICY)).await.body.contains("Nothing is said of any environment"));
}

#[tokio::test]
async fn a_policy_that_makes_no_sense_is_refused() {
    let app = seed::story().await;
    let now = seen(&answer(&app, get(POLICY)).await.body);
    for (field, text, says) in [
        ("assume", "hope", "cannot be <code>hope</code>"),
        ("approvals", "many", "is a number up to 100000"),
        ("maxTools", "100001", "is a number up to 100000"),
        ("deprecationDays", "-1", "is a number up to 100000"),
        ("new", "no!name", "cannot be the name of an environment"),
        ("seen", "nothing", "does not say what its sender saw"),
    ] {
        let mut fields = vec![("seen", now.as_str())];
        fields.retain(|(name, _)| *name != field);
        fields.push((field, text));
        let page = answer(&app, submit(POLICY, &fields)).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{field}");
        check(POLICY, &page);
        assert!(page.body.contains(says), "{says}: {}", page.body);
    }
}

#[tokio::test]
async fn whoever_may_not_set_a_policy_may_try_one() {
    let app = seed::story().await;
    let ask = || get(POLICY).caller(Some(Caller { roles: [Role::Viewer].into(), ..Caller::local("ann") }));
    let page = answer(&app, ask()).await.body;
    assert!(!page.contains("method=\"post\" action=\"/catalogs/shop/policy\""), "{page}");
    assert!(page.contains("method=\"get\" action=\"/catalogs/shop/policy\""), "{page}");
}
