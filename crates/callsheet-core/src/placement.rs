//! The places of a reply's tasks in the plan (spec 2.11). A task of the plan keeps its step, so step numbers never
//! change. A new task goes before what the reply lists after it, or else into a new step at the end.

/// The step of each task of a reply. `sections` holds, for each section of the reply, the 0-based step of each of its
/// tasks in the plan, or `None` for a new task. `steps` is the number of steps in the plan.
pub fn place(sections: &[Vec<Option<usize>>], steps: usize) -> Vec<Vec<usize>> {
    let mut bounds: Vec<Option<usize>> = Vec::with_capacity(sections.len());
    let mut later: Option<usize> = None;
    for section in sections.iter().rev() {
        let beside = section.iter().flatten().copied().max();
        let before = later.map(|step| step.saturating_sub(1));
        bounds.push(beside.or(before));
        later = section.iter().flatten().copied().min().into_iter().chain(later).min();
    }
    let mut end = steps;
    sections
        .iter()
        .zip(bounds.into_iter().rev())
        .map(|(section, bound)| {
            let new = bound.unwrap_or(end);
            if bound.is_none() && !section.is_empty() {
                end += 1;
            }
            section.iter().map(|known| known.unwrap_or(new)).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::place;

    /// covers: 2.11 placement
    #[test]
    fn tasks_of_the_plan_stay_and_new_ones_stand_before_what_follows_them() {
        let plan = 3;
        assert_eq!(place(&[vec![None], vec![None, None]], 0), [vec![0], vec![1, 1]], "a first plan");
        assert_eq!(place(&[vec![Some(1)]], plan), [vec![1]], "a task that comes again");
        assert_eq!(place(&[vec![None]], plan), [vec![3]], "behind the plan");
        assert_eq!(place(&[vec![None], vec![Some(2)]], plan), [vec![1], vec![2]], "before a task of the plan");
        assert_eq!(place(&[vec![None], vec![Some(0)], vec![None]], plan), [vec![0], vec![0], vec![3]]);
        assert_eq!(place(&[vec![None, Some(1)], vec![], vec![None]], plan), [vec![1, 1], vec![], vec![3]]);
        assert_eq!(place(&[vec![None], vec![None], vec![Some(2)]], plan), [vec![1], vec![1], vec![2]]);
    }
}
