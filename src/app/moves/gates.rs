//! The gates of a move, each found to be passed or not, and what that was read from.

use crate::{
    app::{
        App, AppError, MoveRequest,
        check::compared,
        earlier,
        environments::frozen_place,
        review::within_budget,
        shown,
        sides::Unpinned,
        view::{GateCheck, Preflight},
    },
    catalog::{
        Catalog, CatalogVersion, EnvironmentPolicy, Grounds, LetGo, MoveKind, Policy, ProbeAnswer, Probed,
        Version,
        policy::{Against, Probe},
        review::{Blocker, Cause, Decisions, Judging},
    },
    diff::Report,
    name::{CatalogName, EnvironmentName},
    store::Basis,
};

/// Versions looked at for changes that can be decided on before a promotion.
const LOOKED_AT: usize = 10;

impl App {
    /// What a move would be judged on, and what that was read from.
    pub(super) async fn examined(
        &self,
        kind: MoveKind,
        request: &MoveRequest,
    ) -> Result<(Preflight, Basis), AppError> {
        let name = self.chosen_catalog(request.catalog.as_ref()).await?;
        let environment = &request.environment;
        // First the place in the log, then everything else: what comes later is noticed.
        let mut basis = self.basis([]).await?;
        let catalog = self.known_catalog(&name).await?;
        let demands = catalog.environments.get(environment);
        // An emergency rests on nothing but where the pointer stands, which the move itself compares.
        if !request.overrides.emergency {
            basis.subjects = vec![format!("catalog/{name}"), format!("environment/{environment}")];
            let before = demands.and_then(|d| d.after.as_ref());
            basis.subjects.extend(before.map(|e| format!("environment/{e}")));
        }
        let target = self.version(&name, request.version).await?;
        let pointer = self.store.pointer(environment, &name).await?;
        self.makes_sense(kind, request, &name, pointer.as_ref(), target.version).await?;
        let live = match &pointer {
            Some(pointer) => Some(self.version(&name, pointer.version).await?),
            None => None,
        };
        let policy = catalog.policy_in(environment);
        let mut grounds = Grounds { emergency: request.overrides.emergency, ..Grounds::default() };
        let mut gates = Vec::new();

        if let Some(gate) = self.thawed(environment, &name).await? {
            gates.push(gate.overridden(request.overrides.emergency));
        }
        if kind == MoveKind::Promote
            && let Some(demands) = demands
        {
            gates.push(self.in_order(&name, demands, &target).await?);
        }
        grounds.approvers = self.approvers(&target).await?;
        if kind == MoveKind::Promote {
            gates.push(enough_approvals(&policy, &target, &grounds.approvers));
            let within = within_budget(&policy, &target.content, &format!("version {}", target.version));
            gates.push(GateCheck::of(
                "too-many-tools",
                within,
                "it holds no more tools than the policy allows",
            ));
        }
        let judged = self.judged_move(kind, &catalog, environment, &policy, live.as_ref(), &target).await;
        // What no document pinned, or what was never listed here, cannot be compared; unknown is never read as compatible.
        let asked = demands.is_some_and(|d| kind == MoveKind::Promote || !d.rollback_fail_on.is_empty());
        let mut unknown = unpinned(live.iter().chain([&target]));
        let (report, earlier) = match judged {
            Ok(judged) => judged,
            Err(e) if !e.kind.is_ours() => {
                unknown = Some((e.message, e.help));
                (None, Vec::new())
            }
            Err(e) => return Err(e),
        };
        if let Some((message, help)) = unknown.filter(|_| asked && live.is_some()) {
            gates.push(
                GateCheck::failed("contracts-unknown", message, &help)
                    .overridden(request.overrides.emergency),
            );
        }
        grounds.verdict = report.as_ref().map(|r| r.verdict);
        let decisions: Decisions = self.store.decisions(&name).await?.into_iter().collect();
        let now = self.now();
        let reports = || report.iter().chain(&earlier);
        let policy = judging(kind, demands, &policy);
        let announced = self.announced_in(environment, &name, &policy, reports()).await?;
        let judging = Judging {
            policy: &policy,
            decisions: &decisions,
            announced: &announced,
            environment: Some(environment),
            now,
        };
        let open = judging.blockers(reports());
        grounds.decisions = judging.used(reports());
        // What would have passed anyway passes for nothing.
        if counts(kind, demands, &Cause::Open) {
            grounds.announced = judging.let_go(reports());
        }
        let open: Vec<_> = open.into_iter().filter(|b| counts(kind, demands, &b.cause)).collect();
        gates.push(
            changes(kind, environment, &open, &grounds.announced).overridden(request.overrides.emergency),
        );

        let wanted = demands.map_or(Probe::default(), |d| d.probe);
        // Nobody waits for a server where something else stands in the way already; and one goes back because servers are
        // not as they should be, without asking them.
        if kind == MoveKind::Promote && wanted != Probe::Skip && !gates.iter().any(GateCheck::blocks) {
            grounds.probed = self.probed(&target, demands).await?;
            let required = wanted == Probe::Require;
            let insisted = request.overrides.record_probe;
            gates.push(served(target.version, &grounds.probed, demands, required, insisted));
        }
        grounds.overridden = gates.iter().filter(|g| g.overridden).map(|g| g.code.to_owned()).collect();
        let preflight = Preflight {
            kind,
            environment: environment.clone(),
            catalog: name,
            from: pointer.as_ref().map(|p| p.version),
            to: target.version,
            digest: target.digest,
            generation: pointer.map_or(0, |p| p.generation),
            report,
            earlier,
            gates,
            grounds,
            servers: target.content.servers,
        };
        Ok((preflight, basis))
    }

    /// The gate that a freeze is, where there is one.
    async fn thawed(
        &self,
        environment: &EnvironmentName,
        catalog: &CatalogName,
    ) -> Result<Option<GateCheck>, AppError> {
        let freezes = self.freezes_of(environment).await?;
        let freeze = freezes.into_iter().find(|f| f.catalog.as_ref().is_none_or(|c| c == catalog));
        Ok(freeze.map(|freeze| {
            let message = format!(
                "{} is frozen since {} by {}: {}",
                frozen_place(environment, freeze.catalog.as_ref()),
                shown(freeze.at),
                freeze.actor,
                freeze.reason
            );
            GateCheck::failed("frozen", message, "wait until it is unfrozen; an emergency rollback goes on")
        }))
    }

    /// Whether a version was live where it has to have been, and was not left there since.
    async fn in_order(
        &self,
        catalog: &CatalogName,
        demands: &EnvironmentPolicy,
        target: &Version,
    ) -> Result<GateCheck, AppError> {
        let Some(before) = &demands.after else {
            return Ok(GateCheck::passed("order", "no other environment comes before"));
        };
        let held = self.store.holds(before, catalog).await?.contains(&target.version);
        let was_live = self.store.was_live(before, catalog, target.version).await?;
        Ok(match (was_live, held) {
            (true, false) => GateCheck::passed("order", format!("it was live in `{before}`")),
            (true, true) => GateCheck::failed(
                "order",
                format!(
                    "version {} is held in `{before}`, which comes before: it was left by a rollback",
                    target.version
                ),
                "release the hold there first, if what was wrong is mended",
            ),
            (false, _) => GateCheck::failed(
                "order",
                format!("version {} was never live in `{before}`, which comes before", target.version),
                &format!("promote it to `{before}` first"),
            ),
        })
    }

    /// Who approved a version, other than those who had a part in it.
    pub(in crate::app) async fn approvers(&self, version: &Version) -> Result<Vec<String>, AppError> {
        let Some(id) = version.draft else { return Ok(Vec::new()) };
        let Some(draft) = self.store.draft(&version.catalog, id).await? else { return Ok(Vec::new()) };
        let approvals = self.store.approvals(id).await?.into_iter();
        let counted = approvals.filter(|a| a.digest == version.digest && !draft.is_author(&a.actor));
        Ok(counted.map(|a| a.actor).collect())
    }

    /// What changes for whoever uses an environment, from what is live to the target; nothing where nothing is live.
    async fn judged_move(
        &self,
        kind: MoveKind,
        catalog: &Catalog,
        environment: &EnvironmentName,
        policy: &Policy,
        live: Option<&Version>,
        target: &Version,
    ) -> Result<(Option<Report>, Vec<Report>), AppError> {
        let Some(live) = live else { return Ok((None, Vec::new())) };
        let label = |v: &Version| format!("{}@{}", v.catalog, v.version);
        let baseline = self.version_side(&label(live), live, Unpinned::LeaveOut).await?;
        let candidate = self.version_side(&label(target), target, Unpinned::LeaveOut).await?;
        let report = compared(baseline, candidate.clone(), policy.options()).await?;
        let looks_back = kind == MoveKind::Promote && policy.against != Against::Latest;
        let earlier = if looks_back {
            let ever = self.ever_live(&catalog.name, Some(environment)).await?;
            let mut older = self.store.versions(&catalog.name).await?;
            // Somebody may rely on what was live, whichever number it has.
            older.retain(|v| {
                v.version != target.version && (v.version < target.version || ever.contains(&v.version))
            });
            let scope = earlier::scope(policy.against, live, &older, &ever);
            self.against_earlier(&scope, &candidate, policy.options()).await?
        } else {
            Vec::new()
        };
        Ok((Some(report), earlier))
    }

    /// What approved versions would bring to the environments of a catalog.
    pub(in crate::app) async fn promotable_reports(
        &self,
        catalog: &Catalog,
    ) -> Result<Vec<Report>, AppError> {
        let mut reports = Vec::new();
        for pointer in self.store.pointers().await?.into_iter().filter(|p| p.catalog == catalog.name) {
            let policy = catalog.policy_in(&pointer.environment);
            let live = self.version(&catalog.name, pointer.version).await?;
            let numbers = self.store.version_numbers(&catalog.name).await?;
            for number in numbers.into_iter().filter(|n| *n != pointer.version).take(LOOKED_AT) {
                let target = self.version(&catalog.name, number).await?;
                let judged = self.judged_move(
                    MoveKind::Promote,
                    catalog,
                    &pointer.environment,
                    &policy,
                    Some(&live),
                    &target,
                );
                match judged.await {
                    Ok((report, earlier)) => reports.extend(report.into_iter().chain(earlier)),
                    Err(e) if e.kind.is_ours() => return Err(e),
                    Err(_) => {} // what cannot be compared shows no changes
                }
            }
        }
        Ok(reports)
    }
}

/// Whether what stands in the way of a change stands in the way of the move.
fn counts(kind: MoveKind, demands: Option<&EnvironmentPolicy>, cause: &Cause) -> bool {
    match (kind, demands) {
        (MoveKind::Promote, Some(_)) => true,
        (MoveKind::Rollback, Some(demands)) => !demands.rollback_fail_on.is_empty(),
        // Nothing is demanded there, but what was rejected must not come.
        (MoveKind::Promote, None) => matches!(cause, Cause::Rejected(_)),
        (MoveKind::Rollback, None) => false,
    }
}

/// The gate that the changes are which stand in the way.
fn changes(
    kind: MoveKind,
    environment: &EnvironmentName,
    open: &[Blocker<'_>],
    let_go: &[LetGo],
) -> GateCheck {
    let Some(first) = open.first() else {
        let mut message = "no change blocks that nobody accepted".to_owned();
        for change in let_go {
            message.push_str(&format!("; {}", change.told()));
        }
        return GateCheck::passed("policy-blocks", message);
    };
    let rest = match open.len() {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let message = format!("for whoever uses `{environment}`: {}{rest}", first.told());
    let help = match kind {
        MoveKind::Promote => "accept or waive the changes by their fingerprints, or change what is promoted",
        MoveKind::Rollback => "say that it is an emergency, with the reason, if it has to be",
    };
    GateCheck::failed("policy-blocks", message, help)
}

/// Why versions cannot be compared whole: a member that no document pinned.
fn unpinned<'v>(versions: impl IntoIterator<Item = &'v Version>) -> Option<(String, String)> {
    versions.into_iter().find_map(|version| {
        let member = version.content.members.iter().find(|m| m.digests.is_none())?;
        let message = format!(
            "version {} names tool `{}` without pinning it, so what it is is not known",
            version.version, member.tool
        );
        Some((message, "snapshot the server and draft a version of the catalog; that pins it".to_owned()))
    })
}

/// The policy that a move's report is held against.
fn judging(kind: MoveKind, demands: Option<&EnvironmentPolicy>, policy: &Policy) -> Policy {
    match (kind, demands) {
        (MoveKind::Promote, _) => policy.clone(),
        (MoveKind::Rollback, demands) => {
            let fail_on = demands.map(|d| d.rollback_fail_on.clone()).unwrap_or_default();
            Policy { fail_on, ..policy.clone() }
        }
    }
}

fn enough_approvals(policy: &Policy, target: &Version, approvers: &[String]) -> GateCheck {
    let needed = policy.approvals as usize;
    if approvers.len() >= needed {
        let message = match needed {
            0 => "nobody but who drafted it has to approve it".to_owned(),
            needed => format!("approved by {} of {needed} others", approvers.len()),
        };
        return GateCheck::passed("approvals", message);
    }
    let message = format!(
        "version {} was approved by {} of {needed} people who had no part in it",
        target.version,
        approvers.len()
    );
    let help = match target.draft {
        Some(draft) => format!("let others approve d-{draft} as well"),
        None => "it came with a document; draft and approve it here".to_owned(),
    };
    GateCheck::failed("approvals", message, &help)
}

/// The gate of what was asked of servers; `insisted` is whether what they serve is to be recorded and no more.
fn served(
    version: CatalogVersion,
    probed: &[Probed],
    demands: Option<&EnvironmentPolicy>,
    required: bool,
    insisted: bool,
) -> GateCheck {
    const CODE: &str = "not-served";
    // Who is named to serve an environment has to be there; of all others nobody has to know anything.
    let named = |p: &&Probed| demands.is_some_and(|d| d.servers.contains_key(&p.server));
    let unasked = || probed.iter().filter(|p| p.answer == ProbeAnswer::Unregistered);
    let wrong = probed.iter().find(|p| matches!(p.answer, ProbeAnswer::Differs | ProbeAnswer::Unreachable));
    match (wrong, unasked().find(named)) {
        (Some(wrong), _) if required => GateCheck::failed(
            CODE,
            format!("version {version} is not what is served: {}", wrong.told()),
            "deploy the release that the version came from, or draft from what is served; or record what the servers \
             serve and go on",
        )
        .overridden(insisted),
        (None, Some(missing)) if required => GateCheck::failed(
            CODE,
            format!("whether version {version} is what is served is not known: {}", missing.told()),
            "register that server, or mend the name under `servers` of the environment in the catalog's settings; or go on \
             without knowing",
        )
        .overridden(insisted),
        (Some(wrong), _) => GateCheck::passed(CODE, format!("nothing has to be served here; {}", wrong.told())),
        (None, _) => {
            let mut said = match probed.iter().any(|p| p.answer != ProbeAnswer::Unregistered) {
                true => vec!["no server was found to serve something else".to_owned()],
                false => Vec::new(),
            };
            said.extend(unasked().map(Probed::told));
            if said.is_empty() {
                said.push("no server is pinned, so nobody was asked".to_owned());
            }
            GateCheck::passed(CODE, said.join("; "))
        }
    }
}
